import { missing, openaiWords, params } from './openai-words.ts'
import { paramProblem, type ParamTable } from './param-problem.ts'
import type { RequestProblem } from './request-problem.ts'
import type { JsonObject } from '../types/json.ts'
import type { ImageOperation } from '../types/media.ts'

/** A form has nothing but text in its fields, so there the kind of a number says nothing. */
const shared = [
  ...params([], 'n output_compression partial_images stream'),
  ...params(['string'], 'prompt model quality response_format output_format size'),
  ...params(['string'], 'background user'),
]

const tables: Readonly<Record<ImageOperation, ParamTable>> = {
  generate: Object.fromEntries([
    ...shared,
    ...params(['string'], 'moderation style'),
    ...params(['integer'], 'n output_compression partial_images'),
    ...params(['boolean'], 'stream'),
  ]),
  edit: Object.fromEntries([...shared, ...params([], 'image images mask input_fidelity')]),
  variation: Object.fromEntries([...shared, ...params([], 'image')]),
}

/** What OpenAI's images endpoints refuse: unknown fields, and a prompt or an image that is not there. */
export function checkImages(
  operation: ImageOperation,
  body: JsonObject,
): RequestProblem | undefined {
  const image = body['image'] ?? body['images']
  return (
    paramProblem(body, tables[operation], openaiWords) ??
    (operation !== 'variation' && body['prompt'] === undefined ? missing('prompt') : undefined) ??
    (operation !== 'generate' && image === undefined ? missing('image') : undefined)
  )
}
