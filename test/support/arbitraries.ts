import fc from 'fast-check'
import type { Issue } from '../../src/core/types/error-data.ts'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'
import type { Image, ImageRequest, ImageResponse, MediaFile } from '../../src/core/types/media.ts'
import {
  isBlank,
  type Message,
  type Part,
  type Thread,
  type ToolCall,
} from '../../src/core/types/message.ts'
import type { ModelRequest, ResponseFormat, ToolSpec } from '../../src/core/types/request.ts'
import type { Usage } from '../../src/core/types/response.ts'

/** Arbitrary values of the data types, legal by construction, for the property tests of every folder. */

export const text: fc.Arbitrary<string> = fc.string({ maxLength: 12 })
export const word: fc.Arbitrary<string> = fc.stringMatching(/^[a-z][a-z0-9_]{0,7}$/)
const count = fc.integer({ min: 1, max: 9999 })
const tokens = fc.nat({ max: 100_000 })

/** The name of a member. `__proto__` is not a legal one. */
const memberName = text.filter((name) => name !== '__proto__')

/** JSON without -0, whose sign JSON does not keep. */
export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), finite()),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(memberName, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value

function finite(): fc.Arbitrary<number> {
  return fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n))
}

export const jsonObject: fc.Arbitrary<JsonObject> = fc.dictionary(memberName, json, {
  maxKeys: 3,
  noNullPrototype: true,
})

/** A record whose members in `optional` may be absent, and are never `undefined`. */
export function shaped<T extends object>(
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<T> {
  const members = { ...required, ...optional }
  const requiredKeys = Object.keys(required)
  // The caller names the members and the type.
  return fc.record(members, {
    requiredKeys,
    noNullPrototype: true,
  }) as fc.Arbitrary<unknown> as fc.Arbitrary<T>
}

const facts = { width: count, height: count, revisedPrompt: text, metadata: jsonObject }
const mimeType = fc.constantFrom('image/png', 'image/jpeg', 'image/webp', 'image/gif')
const type = (tag: string): { type: fc.Arbitrary<string> } => ({ type: fc.constant(tag) })

export const image: fc.Arbitrary<Image> = fc.oneof(
  shaped<Image>(
    { ...type('base64'), base64: fc.base64String({ minLength: 4, maxLength: 16 }), mimeType },
    facts,
  ),
  shaped<Image>({ ...type('url'), url: fc.webUrl() }, { ...facts, mimeType }),
  shaped<Image>({ ...type('id'), id: word, provider: word }, { ...facts, mimeType }),
)

/** Files that every API takes. */
const file: fc.Arbitrary<MediaFile> = shaped<MediaFile>(
  {
    ...type('base64'),
    base64: fc.base64String({ minLength: 4, maxLength: 16 }),
    mimeType: fc.constantFrom('application/pdf', 'text/plain', 'text/csv'),
  },
  { name: word },
)

export const part: fc.Arbitrary<Part> = fc.oneof(
  shaped<Part>({ ...type('text'), text }),
  shaped<Part>({ ...type('file'), file }),
  shaped<Part>({ ...type('image'), image }, { detail: fc.constantFrom('auto', 'low', 'high') }),
  shaped<Part>({ ...type('reasoning'), text }, { opaque: json, provider: word }),
)

export const toolCall: fc.Arbitrary<ToolCall> = shaped<ToolCall>(
  { id: fc.uuid(), name: word, arguments: jsonObject },
  { rawArguments: text, opaque: json },
)

const content = fc.oneof(text, fc.array(part, { maxLength: 3 }))
const asides = { name: word, metadata: jsonObject }

/** What an answer may say about itself. */
const told = {
  finishReason: fc.constantFrom('length', 'content_filter', 'error', 'other'),
  agent: word,
} as const

const spoken: fc.Arbitrary<Message> = fc.oneof(
  shaped<Message>({ role: fc.constantFrom('system', 'user'), content }, asides),
  shaped<Message>({ role: fc.constant('assistant'), content }, { ...asides, ...told }),
)

/** An assistant message with calls, and the answers to all of them in some order. */
const toolTurn: fc.Arbitrary<readonly Message[]> = fc
  .uniqueArray(toolCall, { minLength: 1, maxLength: 3, selector: ({ id }) => id })
  .chain((toolCalls) =>
    fc.tuple(
      shaped<Message>(
        {
          role: fc.constant('assistant'),
          content,
          toolCalls: fc.constant(toolCalls),
        },
        told,
      ),
      fc
        .shuffledSubarray([...toolCalls], { minLength: toolCalls.length })
        .chain((calls) =>
          fc.tuple(
            ...calls.map(({ id }) =>
              shaped<Message>(
                { role: fc.constant('tool'), content, toolCallId: fc.constant(id) },
                asides,
              ),
            ),
          ),
        ),
    ),
  )
  .map(([asking, answers]) => [asking].concat(answers))

/** A conversation that every provider takes: every call answered, and something to send. */
export const transcript: fc.Arbitrary<readonly Message[]> = fc
  .array(
    fc.oneof(
      spoken.map((message) => [message]),
      toolTurn,
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((turns) => turns.flat())
  .filter((messages) => !messages.every(isBlank))

export const message: fc.Arbitrary<Message> = transcript.map(([first]) => first as Message) // it is not empty

export const thread: fc.Arbitrary<Thread> = shaped<Thread>({
  messages: transcript,
  metadata: jsonObject,
})

export const toolSpec: fc.Arbitrary<ToolSpec> = shaped<ToolSpec>(
  {
    name: word.filter((name) => !['auto', 'none', 'required'].includes(name)),
    description: text,
    schema: jsonObject,
  },
  { strict: fc.boolean() },
)

export const responseFormat: fc.Arbitrary<ResponseFormat> = fc.oneof(
  shaped<ResponseFormat>(type('text')),
  shaped<ResponseFormat>(type('json_object')),
  shaped<ResponseFormat>({
    ...type('json_schema'),
    name: word,
    schema: jsonObject,
    strict: fc.boolean(),
  }),
)

const providerOptions = fc.dictionary(word, jsonObject, { maxKeys: 2, noNullPrototype: true })

const requiredFields = {
  messages: transcript,
  tools: fc.uniqueArray(toolSpec, { maxLength: 3, selector: ({ name }) => name }),
  providerOptions,
  metadata: jsonObject,
}

const optionalFields = {
  model: word,
  toolChoice: fc.constantFrom('auto', 'none'),
  temperature: fc.double({ min: 0, max: 2, noNaN: true }).map((n) => (n === 0 ? 0 : n)),
  topP: fc.double({ min: 0, max: 1, noNaN: true }).map((n) => (n === 0 ? 0 : n)),
  topK: fc.integer({ min: 1, max: 100 }),
  stopSequences: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  seed: fc.integer(),
  presencePenalty: fc.double({ min: -2, max: 2, noNaN: true }).map((n) => (n === 0 ? 0 : n)),
  frequencyPenalty: fc.double({ min: -2, max: 2, noNaN: true }).map((n) => (n === 0 ? 0 : n)),
  parallelToolCalls: fc.boolean(),
  maxTokens: count,
  responseFormat,
  reasoning: shaped(
    { effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'max') },
    { summary: fc.boolean() },
  ),
  promptCache: fc.oneof(
    fc.constant(true),
    shaped({}, { key: word, retention: fc.constantFrom('short', 'long') }),
  ),
}

/** A new field of a request needs an arbitrary value here. */
const requestMembers = { ...requiredFields, ...optionalFields } satisfies Record<
  keyof ModelRequest,
  fc.Arbitrary<unknown>
>

export const modelRequest: fc.Arbitrary<ModelRequest> = fc.record(requestMembers, {
  requiredKeys: ['messages', 'tools', 'providerOptions', 'metadata'],
  noNullPrototype: true,
}) as fc.Arbitrary<unknown> as fc.Arbitrary<ModelRequest>

/** Counts of any size, except totals that exclude reasoning from the output: adapters add it there. */
export const usage: fc.Arbitrary<Usage> = shaped<Usage>(
  {},
  {
    inputTokens: tokens,
    outputTokens: tokens,
    totalTokens: tokens,
    cachedInputTokens: tokens,
    cacheWriteInputTokens: tokens,
    reasoningTokens: tokens,
    extra: jsonObject,
  },
).filter(({ inputTokens = 0, outputTokens = 0, reasoningTokens = 0, totalTokens }) => {
  return reasoningTokens === 0 || totalTokens !== inputTokens + outputTokens + reasoningTokens
})

const size = fc.oneof(fc.constant('auto'), shaped({ width: count, height: count }))

export const imageRequest: fc.Arbitrary<ImageRequest> = fc
  .constantFrom<readonly [string, number, number]>(
    ['generate', 0, 0],
    ['edit', 1, 3],
    ['variation', 1, 1],
  )
  .chain(([operation, minLength, maxLength]) =>
    shaped<ImageRequest>(
      {
        operation: fc.constant(operation),
        n: count,
        responseFormat: fc.constantFrom('base64', 'url'),
        inputImages: fc.array(image, { minLength, maxLength }),
        providerOptions,
        metadata: jsonObject,
        ...(operation === 'variation' ? {} : { prompt: word }),
      },
      {
        model: word,
        size,
        quality: word,
        style: word,
        background: fc.constantFrom('transparent', 'opaque', 'auto'),
        ...(operation === 'edit' ? { mask: image } : {}),
      },
    ),
  )

export const imageResponse: fc.Arbitrary<ImageResponse> = shaped<ImageResponse>(
  {
    requestId: word,
    provider: word,
    images: fc.array(image, { maxLength: 2 }),
    usage: shaped(
      { images: tokens },
      { inputTokens: tokens, outputTokens: tokens, size: word, extra: jsonObject },
    ),
    metadata: jsonObject,
  },
  { id: word, model: word },
)

export const issue: fc.Arbitrary<Issue> = shaped<Issue>({ path: text, problem: text })
