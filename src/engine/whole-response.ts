import type { Collector } from '../collect/collector-state.ts'
import { failureOf } from '../collect/failure.ts'
import { toResponse } from '../collect/to-response.ts'
import { isAllmError } from '../errors/errors.ts'
import type { ModelResponse } from '../types/response.ts'

/** The response of a call that has been read to its end. Throws the failure that it ended in, with what there is of it. */
export function wholeResponse(state: Collector): ModelResponse {
  const response = toResponse(state)
  if (state.error !== undefined) throw failureOf(state.error, response)
  return response
}

/** Gives an error what had been received before it, unless it has that already. */
export function keepPartial(error: unknown, state: Collector): void {
  if (!isAllmError(error) || error.partial !== undefined) return
  state.error = error.toJSON()
  error.partial = toResponse(state)
}
