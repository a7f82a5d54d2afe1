import { failure } from './cli-error.ts'
import { describeFailure } from './describe-error.ts'
import { narrator } from './narrator.ts'
import type { Stage } from './tour-stage.ts'
import type { StreamEvent } from '../types/events.ts'

/** Stands before the words of the model, and of the user. */
export const leads = { model: 'model  ', user: 'you    ', note: '       ' } as const

/**
 * Shows a run on the stage and writes it into the timeline. With `stopAfter`, the run is left after so many pieces of text.
 *
 * Says whether it was stopped. A run that fails ends the tour.
 */
export async function play(
  stage: Stage,
  events: AsyncIterable<StreamEvent>,
  stopAfter: number = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const { io, log, style, output } = stage
  const { env } = io
  const teller = narrator({ write: output.write, style, env, lead: leads.model })
  let pieces = 0
  log.begin()
  for await (const event of events) {
    log.note(event)
    if (event.type === 'error') throw failure(describeFailure(event.error, env))
    teller.show(event)
    if (event.type === 'text_delta' && ++pieces >= stopAfter) break
  }
  const isStopped = pieces >= stopAfter
  if (isStopped) output.write('…')
  teller.endLine()
  if (isStopped) log.cut('is stopped')
  return isStopped
}
