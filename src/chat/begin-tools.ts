import { sayAll } from './loop.ts'
import type { Place } from './place.ts'
import { sortCalls } from './sort-calls.ts'
import { turnTools } from './turn-request.ts'
import { toResponse } from '../run/collector.ts'
import { toolBatches } from '../tools/tool-batches.ts'
import type { Batch } from '../types/events.ts'

/** Begins to answer the calls of an answer that is there. Gives the answers that are known already, if there are any. */
export function beginTools(place: Place): Batch | undefined {
  const { loop } = place
  const answer = toResponse(loop.state)
  const { open, known } = sortCalls(loop, answer)
  place.answer = answer
  place.stage = open.length > 0 ? 'tools' : 'answered'
  if (open.length > 0) place.source = toolBatches(open, turnTools(loop))
  return known.length > 0 ? sayAll(loop, known) : undefined
}
