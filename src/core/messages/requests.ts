import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { assertOptions, assertValid, describe, refusal } from '../schema/checks.ts'
import { assertMeaning, toJsonSchema, type AnySchema } from '../schema/derive-schema.ts'
import { responseFormat } from '../schema/validate.ts'
import { defined, keysOf } from '../types/guards.ts'
import type { ImageRequest } from '../types/media.ts'
import { toMessages, type MessagesInput } from '../types/message.ts'
import {
  requestKeys,
  type JsonSchemaFormat,
  type ModelRequest,
  type ResponseFormat,
  type ToolSpec,
} from '../types/request.ts'
import { isStandardSchema, type NeedsJsonSchema } from '../types/standard-schema.ts'

/** The fields of a request besides its messages. Each is also an option of a call. */
interface ModelRequestOptions extends Pick<
  CallOptions,
  Exclude<keyof ModelRequest, 'messages' | 'tools'>
> {
  /** The request keeps the part of each tool that the model sees; handlers stay in the engine. */
  readonly tools?: readonly ToolSpec[] | undefined
}

const requestOptionKeys = /* @__PURE__ */ requestKeys.filter((key) => key !== 'messages')

/**
 * One call's input, as plain data, with its defaults filled in. A text is one user message.
 *
 * Unknown keys are refused here. The values are checked when the request is sent, or by `validateRequest`.
 */
export function modelRequest(
  input: MessagesInput,
  options: ModelRequestOptions = {},
): ModelRequest {
  assertOptions('invalid_request', options, requestOptionKeys)
  const messages = toMessages(input)
  if (!Array.isArray(messages)) {
    const problem = `must be a text or a list such as [user("…")], not ${describe(input)}`
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
 * The format of an answer that must match a schema: JSON Schema, or a schema of Zod, Valibot or ArkType.
 *
 * The name is for the provider: 1 to 64 letters, digits, `_` or `-`. `strict` (true) asks the provider to enforce the schema.
 */
export function jsonSchema<Schema extends AnySchema>(
  name: string,
  schema: Schema & NeedsJsonSchema<Schema>,
  options: { readonly strict?: boolean | undefined } = {},
): JsonSchemaFormat {
  assertOptions('invalid_request', options, ['strict'])
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    const problem = `must be 1 to 64 letters, digits, _ or -, not ${describe(name)}`
    throw refusal('invalid_request', 'name', problem)
  }
  const { strict = true } = options
  const made = formatOf(name, schema, strict)
  if (!isStandardSchema(schema)) assertMeaning(made.schema, 'invalid_request')
  return made
}

function formatOf(name: string, schema: AnySchema, strict: boolean): JsonSchemaFormat {
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
  return isStandardSchema(format) ? formatOf('output', format, true) : format
}

/** The fields of an image request besides its prompt. */
type ImageRequestOptions = {
  readonly [K in Exclude<keyof ImageRequest, 'prompt'>]?: ImageRequest[K] | undefined
}

const imageRequestKeys = /* @__PURE__ */ keysOf<ImageRequestOptions>({
  operation: true,
  model: true,
  n: true,
  size: true,
  quality: true,
  style: true,
  background: true,
  responseFormat: true,
  inputImages: true,
  mask: true,
  providerOptions: true,
  metadata: true,
})

/**
 * One image call's input, as plain data. By default it asks for one new image as base64.
 *
 * With input images and no `operation` it is an edit. Unknown keys are refused here. The values are checked when the
 * request is sent, or by `validateImageRequest`. A variation has no prompt: pass `undefined`.
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

/** The part of a tool that a model sees, as plain data. */
export function toToolSpec(from: ToolSpec): ToolSpec {
  const { name, description, schema, strict, providerOptions } = from
  const spec = { name, description, schema, strict, providerOptions }
  return defined<ToolSpec>(spec satisfies Record<keyof ToolSpec, unknown>)
}
