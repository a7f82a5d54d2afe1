import type { IncomingHttpHeaders } from 'node:http'
import { checkAnthropic } from './check-anthropic.ts'
import { checkGemini } from './check-gemini.ts'
import { checkOpenaiChat } from './check-openai-chat.ts'
import { checkOpenaiResponses } from './check-openai-responses.ts'
import { missing, openaiWords, params } from './openai-checks.ts'
import { paramProblem, type ParamTable, type RequestProblem } from './param-checks.ts'
import type { WireFormat } from './wire-format.ts'
import { assertNever } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { ImageOperation } from '../types/media.ts'

/** The first problem that the provider of a format would name in a request. */
export function checkRequest(
  format: WireFormat,
  body: JsonObject,
  headers: IncomingHttpHeaders,
): RequestProblem | undefined {
  switch (format) {
    case 'openai_chat':
      return checkOpenaiChat(body)
    case 'openai_responses':
      return checkOpenaiResponses(body)
    case 'anthropic':
      if (headers['anthropic-version'] === undefined)
        return { message: 'anthropic-version: header is required' }
      return checkAnthropic(body, headers['anthropic-beta'] !== undefined)
    case 'gemini':
      return checkGemini(body)
    default:
      return assertNever(format)
  }
}

/** What a provider says to a body that is not a JSON object. */
export function unreadable(format: WireFormat): RequestProblem {
  switch (format) {
    case 'openai_chat':
    case 'openai_responses':
      return { message: 'We could not parse the JSON body of your request.' }
    case 'anthropic':
      return { message: 'The request body is not valid JSON' }
    case 'gemini':
      return { message: 'Invalid JSON payload received. Expected an object.' }
    default:
      return assertNever(format)
  }
}

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
