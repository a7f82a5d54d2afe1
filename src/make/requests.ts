import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { toToolSpec } from './tools.ts'
import { assertOptions, assertValid, describe, refusal } from '../schema/checks.ts'
import { toJsonSchema, type AnySchema } from '../schema/derive-schema.ts'
import { responseFormat } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type { ImageRequest } from '../types/media.ts'
import type { Message } from '../types/message.ts'
import {
  requestKeys,
  type JsonSchemaFormat,
  type ModelRequest,
  type ResponseFormat,
  type ToolSpec,
} from '../types/request.ts'
import { isStandardSchema } from '../types/standard-schema.ts'

/** What a request may say beside its messages. */
interface ModelRequestOptions extends Pick<
  CallOptions,
  | 'model'
  | 'toolChoice'
  | 'temperature'
  | 'maxTokens'
  | 'responseFormat'
  | 'reasoning'
  | 'promptCache'
  | 'providerOptions'
  | 'metadata'
> {
  /** Tools, of which the request keeps what the model sees; handlers stay with the engine. */
  readonly tools?: readonly ToolSpec[] | undefined
}

const legalKeys: readonly string[] = requestKeys.filter((key) => key !== 'messages')

/**
 * One call's input, as plain data, with its defaults filled in.
 *
 * Unknown keys are refused here; the whole is checked when it is sent, or by `validateRequest`.
 */
export function modelRequest(
  messages: readonly Message[],
  options: ModelRequestOptions = {},
): ModelRequest {
  assertOptions('invalid_request', options, legalKeys)
  if (!Array.isArray(messages)) {
    const problem = `must be a list such as [user("…")], not ${describe(messages)}`
    throw refusal('invalid_request', 'messages', problem)
  }
  const { tools = [], responseFormat, providerOptions = {}, metadata = {}, ...rest } = options
  return defined<ModelRequest>({
    ...rest,
    messages,
    tools: tools.map(toToolSpec),
    responseFormat: responseFormat === undefined ? undefined : toResponseFormat(responseFormat),
    providerOptions,
    metadata,
  })
}

/**
 * The form of an answer that has to match a schema, given as JSON Schema or as a schema of Zod, Valibot or ArkType.
 *
 * The name is for the provider: 1 to 64 letters, digits, `_` or `-`. `strict` (true) asks the provider to enforce it.
 */
export function jsonSchema(
  name: string,
  schema: AnySchema,
  options: { readonly strict?: boolean | undefined } = {},
): JsonSchemaFormat {
  assertOptions('invalid_request', options, ['strict'])
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw refusal('invalid_request', 'name', 'must be 1 to 64 letters, digits, _ or -')
  }
  const { strict = true } = options
  const made: JsonSchemaFormat = {
    type: 'json_schema',
    name,
    schema: toJsonSchema(schema, 'invalid_request'),
    strict,
  }
  assertValid('invalid_request', responseFormat(made))
  return made
}

/** The format as plain data: a library's schema becomes a `json_schema` named `output`. */
export function toResponseFormat(format: FormatOption): ResponseFormat {
  return isStandardSchema(format) ? jsonSchema('output', format) : format
}

/** What an image request may say beside its prompt. */
type ImageRequestOptions = {
  readonly [K in Exclude<keyof ImageRequest, 'prompt'>]?: ImageRequest[K] | undefined
}

const imageRequestKeys = [
  'operation',
  'model',
  'n',
  'size',
  'quality',
  'style',
  'background',
  'responseFormat',
  'inputImages',
  'mask',
  'providerOptions',
  'metadata',
] satisfies readonly (keyof ImageRequestOptions)[]

/**
 * One image call's input, as plain data: one new image as base64, unless told otherwise.
 *
 * Input images without an `operation` make it an edit. Unknown keys are refused here; the whole is checked when it is
 * sent, or by `validateImageRequest`. A variation has no prompt: pass `undefined`.
 */
export function imageRequest(
  prompt: string | undefined,
  options: ImageRequestOptions = {},
): ImageRequest {
  assertOptions('invalid_image_request', options, imageRequestKeys)
  if (prompt !== undefined && typeof prompt !== 'string') {
    throw refusal('invalid_image_request', 'prompt', `must be a string, not ${describe(prompt)}`)
  }
  const { inputImages = [], providerOptions = {}, metadata = {}, ...rest } = options
  const { n = 1, responseFormat = 'base64', ...others } = rest
  const { operation = inputImages.length > 0 ? 'edit' : 'generate', ...optional } = others
  return defined<ImageRequest>({
    ...optional,
    operation,
    prompt,
    n,
    responseFormat,
    inputImages,
    providerOptions,
    metadata,
  })
}
