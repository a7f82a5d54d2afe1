import { failureOf } from '../collect/failure.ts'
import { toResponse } from '../collect/to-response.ts'
import type { ModelResponse } from '../data/model-response.ts'
import { isAllmError } from '../errors/allm-error.ts'
import type { ModelRun } from '../stream/model-run.ts'

/** Reads a model call to its end and gives its response, or rejects with the failure that holds what there is of it. */
export async function drainCall(run: ModelRun): Promise<ModelResponse> {
  const { state } = run
  try {
    while ((await run.next()).done !== true);
  } catch (error) {
    if (isAllmError(error)) {
      state.error = error.toJSON()
      error.partial = toResponse(state)
    }
    throw error
  }
  const response = toResponse(state)
  if (state.error !== undefined) throw failureOf(state.error, response)
  return response
}
