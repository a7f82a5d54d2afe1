import { ImageAdapterError } from '../../errors/errors.ts'
import { transportFailure } from '../../http/failure.ts'
import { guardCall } from '../../http/call.ts'
import type { ImageFamily } from './images-family.ts'
import type { ImageHttpCall } from './images-http.ts'
import { maskProblem } from './images-mask.ts'
import { renderFields, renderForm } from './images-request.ts'
import type { ImageRequest } from '../../types/media.ts'
import { loadInputs, type LoadedInputs } from '../../vision/load-images.ts'

/** A body, and what was asked for and is not in it. */
export interface ImageBody {
  readonly body: string | FormData
  readonly dropped: readonly string[]
}

/** The body of a request: JSON to generate, a form with the images to edit. */
export async function imageBody(
  request: ImageRequest,
  family: ImageFamily,
  call: ImageHttpCall,
): Promise<ImageBody> {
  const { provider, requestId } = call
  const { fields, dropped } = renderFields(request, family, provider)
  if (request.operation !== 'edit') return { body: JSON.stringify(fields), dropped }
  const inputs = await load(request, family, call)
  const problem = maskProblem(inputs)
  if (problem === undefined) return { body: renderForm(fields, inputs), dropped }
  throw new ImageAdapterError('invalid_request', problem, { provider, requestId })
}

/** The deadline of the call also holds while its images are fetched. */
async function load(
  request: ImageRequest,
  { limits }: ImageFamily,
  call: ImageHttpCall,
): Promise<LoadedInputs> {
  const { provider, fetch, requestId } = call
  const guard = guardCall({ ...call, body: null })
  try {
    const source = { limits: { provider, ...limits }, fetch, requestId, signal: guard.signal }
    return await loadInputs(request, source)
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}
