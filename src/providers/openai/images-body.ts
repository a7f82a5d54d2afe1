import type { ImageRequest } from '../../data/image-request.ts'
import { ImageAdapterError } from '../../errors/image-adapter-error.ts'
import { guardCall } from '../../http/guarded-call.ts'
import { transportFailure } from '../../http/transport-failure.ts'
import { loadInputs, type LoadedInputs } from '../../vision/load-inputs.ts'
import type { ImageFamily } from './images-family.ts'
import type { ImageHttpCall } from './images-http.ts'
import { maskProblem } from './images-mask.ts'
import { renderFields, renderForm } from './images-request.ts'

/** The body of a request: JSON to generate, a form with the images to edit. */
export async function imageBody(
  request: ImageRequest,
  family: ImageFamily,
  call: ImageHttpCall,
): Promise<string | FormData> {
  const fields = renderFields(request, family, call.provider)
  if (request.operation !== 'edit') return JSON.stringify(fields)
  const inputs = await load(request, family, call)
  const problem = maskProblem(inputs)
  if (problem === undefined) return renderForm(fields, inputs)
  const { provider, requestId } = call
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
