import { beginTools } from './begin-tools.ts'
import { chatResult } from './chat-result.ts'
import { endStep } from './end-step.ts'
import { say } from './loop.ts'
import type { Place } from './place.ts'
import { turnRequest } from './turn-request.ts'
import { StreamError } from '../errors/errors.ts'
import { checkRequest, startCall } from '../run/model-call.ts'
import type { Batch } from '../types/events.ts'
import { assertNever } from '../types/guards.ts'

/**
 * Goes on from where nothing is left to read: begins what comes next, and gives what the loop itself has to say.
 *
 * `undefined` when it has nothing to say by itself; then there is something to read, or the loop is over.
 */
export function proceed(place: Place): Batch | undefined | Promise<Batch> {
  const { loop, stage } = place
  const { state } = loop
  switch (stage) {
    case 'start':
      // A step that was cut is taken up where it was.
      return state.active ? beginTools(place) : beginModel(place)
    case 'model':
      if (state.error === undefined) return beginTools(place)
      place.stage = 'over'
      return undefined
    case 'tools':
      refuseCut(place)
      return endStep(place)
    case 'answered':
      return endStep(place)
    case 'halted':
      return endChat(place)
    case 'over':
      return undefined
    default:
      return assertNever(stage)
  }
}

function beginModel(place: Place): undefined {
  const { loop } = place
  const request = turnRequest(loop)
  // Later requests are made of parts that were checked or made here.
  if (loop.turns === 0) checkRequest(loop.scene, request)
  loop.turns++
  place.source = startCall(loop.scene, request, loop.state)
  place.stage = 'model'
}

/** Whatever the handlers made of it, a run that was stopped while they ran has no whole step. */
function refuseCut({ loop, left }: Place): void {
  const { signal } = loop.scene.call
  if (!left && signal?.aborted !== true) return
  throw new StreamError('cancelled', 'the run was cancelled', { cause: signal?.reason })
}

function endChat(place: Place): Batch | undefined {
  const { loop } = place
  place.stage = 'over'
  if (loop.haltedReason === undefined) return undefined
  return say(loop, { type: 'chat_completed', result: chatResult(loop, loop.haltedReason) })
}
