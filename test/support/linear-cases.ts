import { resultOf } from '../../src/bridges/mcp/content.ts'
import { applyViewEvent } from '../../src/client.ts'
import { answerText } from '../../src/core/answer/answer-text.ts'
import { eventGate } from '../../src/core/answer/gate.ts'
import { messageBuilder, parseArguments } from '../../src/core/answer/message-builder.ts'
import { redact, redactJson, redactProse, redactThrown } from '../../src/core/errors/redact.ts'
import { ownContent, lateContent } from '../../src/core/messages/tool-messages.ts'
import { absentNulls } from '../../src/core/schema/absent-nulls.ts'
import { assertMeaning } from '../../src/core/schema/derive-schema.ts'
import { anthropicFormat, geminiOpenApi, openaiStrict } from '../../src/core/schema/dialects.ts'
import { describesObjects } from '../../src/core/schema/flatten-schema.ts'
import { schemaIssues } from '../../src/core/schema/json-schema.ts'
import { lowerSchema } from '../../src/core/schema/lower-schema.ts'
import { plainJson } from '../../src/engine/tools/json.ts'
import {
  applyEvent,
  compactMessages,
  createCollector,
  createEngine,
  isSendable,
  partialOutput,
  Session,
  streamGenerate,
  toChatResult,
  tool,
  toResponse,
  toView,
  toViewEvent,
  user,
  validateRequest,
  modelRequest,
  jsonSchema,
  type ChatAdapter,
  type JsonObject,
  type JsonValue,
  type Message,
  type ModelEvent,
  type StreamEvent,
  type ToolCall,
} from '../../src/index.ts'
import { jsonSplitter } from '../../src/providers/gemini/split-body.ts'
import { secretsOf } from '../../src/providers/http/secrets.ts'
import { sseSplitter } from '../../src/providers/http/sse.ts'
import type { WireFormat } from '../../src/testing/server/wire-format.ts'
import { fromUiMessages, toUiMessages, toUiMessageStream } from '../../src/ui.ts'
import { reportSteps, type CostCase } from './count-steps.ts'
import { adapterOf } from './hostile-answers.ts'

/**
 * Hostile inputs of every kind that a model, a server or a page writes, and what reads them. `test/laws/linear.test.ts` doubles each of them.
 *
 * A size is above what is done for small inputs only, such as a value for every delta of `partialOutput`. Calls of an answer are at most 512,
 * and values at most 500 levels deep.
 */
const cases: CostCase[] = []

/** Adds a case. `run` is called with what `input` makes of a size. */
function grows<Input>(
  name: string,
  size: number,
  input: (size: number) => Input,
  run: (input: Input) => unknown,
): void {
  cases.push({
    name,
    size,
    make(n) {
      const made = input(n)
      return () => run(made)
    },
  })
}

function times<T>(n: number, item: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => item(index))
}

function record<T>(n: number, item: (index: number) => T, name = 'k'): Record<string, T> {
  return Object.fromEntries(times(n, (index) => [`${name}${index}`, item(index)]))
}

function nested(depth: number, inside: JsonValue = 1): JsonValue {
  let value = inside
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { a: value }
  return value
}

// Schemas and the values that they judge

const judged = (
  name: string,
  size: number,
  schema: JsonObject | ((n: number) => JsonObject),
  value: (n: number) => JsonValue,
): void =>
  grows(
    `schema: ${name}`,
    size,
    (n) => ({ schema: typeof schema === 'function' ? schema(n) : schema, value: value(n) }),
    (it) => schemaIssues(it.schema, it.value),
  )

judged('unique objects', 200, { uniqueItems: true }, (n) => times(n, (i) => ({ a: i, b: [i] })))
judged('unique lists', 200, { uniqueItems: true }, (n) => times(n, (i) => [i, 'x']))
judged('unique texts', 200, { uniqueItems: true }, (n) => times(n, (i) => `t${i}`))
judged('unique deep', 20, { uniqueItems: true }, (n) => times(n, (i) => nested(20, i)))
judged('unique long texts in objects', 100, { uniqueItems: true }, (n) =>
  times(n, (i) => ({ t: 'x'.repeat(100) + i })),
)
judged('unique in unique', 50, { uniqueItems: true, items: { uniqueItems: true } }, (n) =>
  times(n, (i) => times(5, (j) => ({ i, j }))),
)
judged(
  'enum of the schema',
  200,
  (n) => ({ enum: times(n, (i) => ({ i })) }),
  () => ({ i: -1 }),
)
judged('enum, items of the value', 200, { items: { enum: ['a', { b: 1 }, 3] } }, (n) =>
  times(n, (i) => (i % 2 ? 'a' : 'no')),
)
judged('a long const in every item', 200, { items: { const: 'x'.repeat(2000) } }, (n) =>
  times(n, () => 'y'),
)
judged(
  'const',
  200,
  (n) => ({ const: times(n, (i) => i) }),
  (n) => times(n, (i) => i),
)
judged(
  'properties',
  200,
  (n) => ({ properties: record(n, () => ({ type: 'string' })) }),
  (n) => record(n, (i) => i),
)
judged(
  'unknown members of a closed object',
  100,
  { properties: { alpha: {}, beta: {} }, additionalProperties: false },
  (n) => record(n, () => 1, 'alph'),
)
judged(
  'a closed object with many names',
  100,
  (n) => ({ properties: record(n, () => ({}), 'name'), additionalProperties: false }),
  () => ({ nam: 1 }),
)
judged(
  'unknown members and many names',
  100,
  (n) => ({ properties: record(n, () => ({}), 'name'), additionalProperties: false }),
  (n) => record(n, () => 1, 'nam'),
)
judged(
  'patternProperties',
  200,
  { patternProperties: { '^k': { type: 'string' }, '^x': {} } },
  (n) => record(n, () => 1),
)
judged(
  'additional beside patterns',
  200,
  { patternProperties: { '^x': {} }, additionalProperties: false },
  (n) => record(n, () => 1),
)
judged(
  'many patterns',
  100,
  (n) => ({
    patternProperties: record(n, () => ({}), '^x'),
    additionalProperties: { type: 'string' },
  }),
  () => record(20, () => 1),
)
judged(
  'required',
  200,
  (n) => ({ required: times(n, (i) => `k${i}`) }),
  () => ({}),
)
judged('propertyNames', 200, { propertyNames: { maxLength: 2 } }, (n) => record(n, () => 1))
judged('contains', 200, { contains: { const: 'z' }, minContains: 2 }, (n) => times(n, (i) => i))
judged(
  'prefixItems',
  200,
  (n) => ({ prefixItems: times(n, () => ({ type: 'string' })), items: false }),
  (n) => times(n + 20, (i) => i),
)
judged(
  'anyOf, of the schema',
  100,
  (n) => ({ anyOf: times(n, (i) => ({ type: 'object', required: [`a${i}`] })) }),
  () => ({}),
)
judged(
  'anyOf, of the value',
  100,
  { items: { anyOf: [{ type: 'object', required: ['a'] }, { const: 2 }] } },
  (n) => times(n, (i) => i),
)
judged('oneOf', 100, { items: { oneOf: [{ type: 'number' }, { minimum: 2 }] } }, (n) =>
  times(n, (i) => i),
)
judged(
  'allOf',
  100,
  (n) => ({ allOf: times(n, (i) => ({ required: [`a${i}`] })) }),
  () => ({}),
)
judged(
  'nested anyOf',
  150,
  (n) => {
    let s: JsonObject = { const: 1 }
    for (let i = 0; i < n; i++) s = { anyOf: [s, { const: i }] }
    return s
  },
  () => 'no',
)
judged(
  'if then else',
  100,
  { items: { if: { type: 'number' }, then: { minimum: 5 }, else: { minLength: 5 } } },
  (n) => times(n, (i) => (i % 2 ? i : 'x')),
)
judged(
  'references that multiply',
  8,
  (n) => ({
    $ref: '#/$defs/d0',
    $defs: record(
      n,
      (i) =>
        i === n - 1
          ? { type: 'string' }
          : { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      'd',
    ),
  }),
  () => 1,
)
judged(
  'a recursive reference, deep',
  60,
  {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        anyOf: [
          { type: 'number' },
          { type: 'array', items: { $ref: '#/$defs/node' } },
          { properties: { a: { $ref: '#/$defs/node' } } },
        ],
      },
    },
  },
  (n) => nested(n, 'no'),
)
judged(
  'a recursive reference, wide',
  100,
  {
    $ref: '#/$defs/node',
    $defs: { node: { type: ['object', 'array', 'number'], items: { $ref: '#/$defs/node' } } },
  },
  (n) => times(n, (i) => [i, [i]]),
)
judged('text: length', 2000, { minLength: 1, maxLength: 10 }, (n) => '😀'.repeat(n))
judged('text: pattern', 500, { pattern: '^[a-z]+$' }, (n) => 'a'.repeat(n))
for (const format of ['date', 'date-time', 'email', 'uri', 'uuid'])
  judged(`text: ${format}`, 1000, { format }, (n) => `http://a@${'a.'.repeat(n)} `)
judged('numbers', 200, { items: { minimum: 3, multipleOf: 0.1 } }, (n) => times(n, (i) => i))
judged(
  'problems in deep places',
  250,
  {
    $ref: '#/$defs/n',
    $defs: {
      n: { items: { $ref: '#/$defs/n' }, properties: { a: { $ref: '#/$defs/n' } }, maximum: 0 },
    },
  },
  (n) =>
    nested(
      n,
      times(20, (i) => i + 1),
    ),
)

// Schemas as a server sends them

const shapes: Readonly<Record<string, (n: number) => JsonObject>> = {
  wide: (n) => ({
    type: 'object',
    properties: record(n, () => ({ type: 'string', minLength: 2 })),
    required: times(n >> 1, (i) => `k${i}`),
  }),
  'wide, all required': (n) => ({
    type: 'object',
    properties: record(n, () => ({ type: 'integer' })),
    required: times(n, (i) => `k${i}`),
    additionalProperties: false,
  }),
  'with a long enum': (n) => ({
    type: 'object',
    properties: { a: { enum: times(n, (i) => `w${i}`) } },
  }),
  'with a mixed enum': (n) => ({
    type: 'object',
    properties: { a: { enum: times(n, (i) => (i % 2 ? i : `w${i}`)) } },
  }),
  deep: (n) => {
    let s: JsonObject = { type: 'string' }
    for (let i = 0; i < n; i++) s = { type: 'object', properties: { a: s } }
    return s
  },
  'with many choices': (n) => ({
    type: 'object',
    properties: {
      a: {
        anyOf: times(n, (i) => ({ type: 'object', properties: { [`b${i}`]: { type: 'string' } } })),
      },
    },
  }),
  'with many parts': (n) => ({
    type: 'object',
    allOf: times(n, (i) => ({
      properties: { [`b${i}`]: { type: 'string' } },
      required: [`b${i}`],
    })),
  }),
  'with a chain of references': (n) => ({
    type: 'object',
    properties: { a: { $ref: '#/$defs/d0' } },
    $defs: record(
      n,
      (i) =>
        i === n - 1
          ? { type: 'string' }
          : { type: 'object', properties: { x: { $ref: `#/$defs/d${i + 1}` } } },
      'd',
    ),
  }),
  'with a tuple': (n) => ({
    type: 'object',
    properties: {
      t: { type: 'array', prefixItems: times(n, () => ({ type: 'string' })), items: false },
    },
  }),
  'with required names only': (n) => ({ type: 'object', required: times(n, (i) => `k${i}`) }),
  'with listed names': (n) => ({
    type: 'object',
    propertyNames: { enum: times(n, (i) => `k${i}`) },
    additionalProperties: { type: 'string' },
  }),
  'with many references to one': (n) => ({
    type: 'object',
    properties: record(n, () => ({ $ref: '#/$defs/d' })),
    $defs: { d: { type: 'object', properties: { a: { type: 'string' } } } },
  }),
  'with many dead references': (n) => ({
    type: 'object',
    properties: record(n, (i) => ({ $ref: `#/$defs/no${i}` })),
    $defs: record(n, () => ({}), 'd'),
  }),
}

const dialects = [openaiStrict, anthropicFormat, geminiOpenApi]

const silently = (act: () => unknown) => (): unknown => {
  try {
    return act()
  } catch {
    return undefined
  }
}

for (const [name, shape] of Object.entries(shapes)) {
  const size = name === 'deep' || name.includes('chain') ? 30 : 80
  grows(`lowerSchema: ${name}`, size, shape, (schema) => {
    for (const dialect of dialects) silently(() => lowerSchema(schema, dialect, { use: 'tool' }))()
  })
  grows(`lowerSchema plain: ${name}`, size, shape, (schema) => lowerSchema(schema, 'plain'))
  grows(`assertMeaning: ${name}`, size, shape, (schema) =>
    silently(() => assertMeaning(schema, 'invalid_tool'))(),
  )
  grows(`describesObjects: ${name}`, size, shape, (schema) => describesObjects(schema))
  grows(
    `restore: ${name}`,
    size,
    (n) => {
      const s = shape(n)
      const v =
        Object.keys(s['properties'] ?? {}).length > 2
          ? record(n, () => null)
          : { a: nested(20, null), t: times(n, () => null) }
      return { way: absentNulls(s), v }
    },
    ({ way, v }) => way?.(v),
  )
}
grows(
  'absentNulls: a long list',
  100,
  (n) => ({
    way: absentNulls({
      type: 'object',
      properties: {
        l: {
          type: 'array',
          items: {
            anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'null' }],
          },
        },
      },
    }),
    v: { l: times(n, () => ({ a: null })) },
  }),
  ({ way, v }) => way?.(v),
)
grows(
  'absentNulls: an enum of objects',
  100,
  (n) => ({
    way: absentNulls({
      type: 'object',
      properties: { l: { type: 'array', items: { anyOf: [{ enum: [1, 2, 3] }] } } },
    }),
    v: { l: times(n, (i) => i) },
  }),
  ({ way, v }) => way?.(v),
)

// Texts

const texts: Readonly<Record<string, (n: number) => string>> = {
  stars: (n) => '*'.repeat(n),
  words: (n) => 'a '.repeat(n),
  keys: (n) => 'sk-abcdefgh1234 '.repeat(n >> 4),
  'keys without end': (n) => 'sk-'.repeat(n),
  'api key:': (n) => 'api key: '.repeat(n >> 3),
}
for (const [name, text] of Object.entries(texts)) {
  grows(`redact: ${name}`, 500, text, (given) => [
    redact(given),
    redactProse(given),
    redactThrown(given),
  ])
}
grows(
  'redactJson',
  100,
  (n): JsonValue => record(n, (i) => ({ password: `x${i}`, t: ['sk-abcdefgh1234'] })),
  redactJson,
)
grows(
  'secrets: clean',
  500,
  (n) => 'x'.repeat(n),
  (text) => secretsOf({ provider: 'p', apiKey: 'key-1234567890123456' }).clean(text),
)
grows(
  'secrets: body in small chunks',
  200,
  (n) => times(n, () => 'key-12345'),
  (chunks) => {
    const filter = secretsOf({ provider: 'p', apiKey: 'key-1234567890123456' }).bodyFilter()
    for (const chunk of chunks) filter(chunk, false)
  },
)
grows(
  'late content',
  200,
  (n) => '`` '.repeat(n),
  (text) => lateContent({ id: 'c', name: 't', arguments: {} }, text),
)
grows(
  'own content of a late result',
  200,
  (n): Message => ({
    role: 'user',
    content: '\n```tool_output\n'.repeat(n),
    metadata: { lateResultOf: 'c' },
  }),
  ownContent,
)
grows(
  'answer text: spaces before',
  200,
  (n) => times(n, () => ' '),
  (pieces) => {
    const t = answerText({ schema: {}, strict: true, wrapped: true, warnings: [] })
    for (const piece of pieces) t.push(piece)
    return t.end()
  },
)
grows(
  'answer text: spaces inside the head',
  200,
  (n) => ['{', ...times(n, () => ' ')],
  (pieces) => {
    const t = answerText({ schema: {}, strict: true, wrapped: true, warnings: [] })
    for (const piece of pieces) t.push(piece)
    return t.end()
  },
)
grows(
  'answer text: spaces after',
  200,
  (n) => ['{"value":{"a":1}}', ...times(n, () => ' ')],
  (pieces) => {
    const t = answerText({ schema: {}, strict: true, wrapped: true, warnings: [] })
    for (const piece of pieces) t.push(piece)
    return t.end()
  },
)
grows(
  'answer text: a long value',
  200,
  (n) => ['{"value":[', ...times(n, () => '{},'), '1]}'],
  (pieces) => {
    const t = answerText({ schema: {}, strict: true, wrapped: true, warnings: [] })
    for (const piece of pieces) t.push(piece)
    return t.end()
  },
)

// Server-sent events

const feed = (
  splitter: {
    feed(chunk: string, on: (data: string) => void): void
    end(on: (data: string) => void): void
  },
  chunks: readonly string[],
): void => {
  for (const chunk of chunks) splitter.feed(chunk, () => undefined)
  splitter.end(() => undefined)
}
grows(
  'sse: one character a chunk',
  500,
  (n) => `data: ${'x'.repeat(n)}\n\n`.split(''),
  (chunks) => feed(sseSplitter(), chunks),
)
grows(
  'sse: one event of many lines',
  300,
  (n) => ['data: x\n'.repeat(n), '\n'],
  (chunks) => feed(sseSplitter(), chunks),
)
grows(
  'sse: comments',
  300,
  (n) => [':\n'.repeat(n)],
  (chunks) => feed(sseSplitter(), chunks),
)
grows(
  'sse: CR only',
  300,
  (n) => ['data: x\r\r'.repeat(n)],
  (chunks) => feed(sseSplitter(), chunks),
)
grows(
  'objects: one character a chunk',
  500,
  (n) => `[{"a":"${'x'.repeat(n)}"}]`.split(''),
  (chunks) => feed(jsonSplitter(), chunks),
)
grows(
  'objects: many',
  300,
  (n) => ['{"a":1},'.repeat(n)],
  (chunks) => feed(jsonSplitter(), chunks),
)

// Partial output

async function* streamed<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items
}

const partial = (name: string, size: number, pieces: (n: number) => readonly string[]): void =>
  grows(
    `partialOutput: ${name}`,
    size,
    (n) => pieces(n).map((delta): StreamEvent => ({ type: 'text_delta', delta })),
    async (events) => {
      for await (const _ of partialOutput(streamed(events)));
    },
  )
partial('members', 1500, (n) => ['{', ...times(n, (i) => `"k${i}":1,`), '"z":1}'])
partial('a list', 1500, (n) => ['{"a":[', ...times(n, () => '1,'), '1]}'])
partial('a list of objects', 1500, (n) => ['{"a":[', ...times(n, () => '{"b":1},'), '{}]}'])
partial('a long list and then a text', 1500, (n) => [
  `{"a":[${'1,'.repeat(n)}{"t":"`,
  ...times(n, () => 'xx'),
])
partial('a text', 500, (n) => ['{"a":"', ...times(n, () => 'xx'), '"}'])
partial('one character a piece', 3200, (n) => `[${'1,'.repeat(n >> 1)}`.split(''))
partial('deep', 600, (n) => times(n, () => '[{"a":'))
partial('one piece', 500, (n) => [JSON.stringify(record(n, (i) => i))])
partial('a fence', 500, (n) => [
  '```json\n',
  '{',
  ...times(n, (i) => `"k${i}":1,`),
  '"z":1}',
  '\n```',
])
partial('a long word', 500, (n) => times(n, () => '1'))
partial('escapes', 500, (n) => ['["', ...times(n, () => '\\u0041')])

// Arguments and the gate

const argumentTexts: Readonly<Record<string, (n: number) => string>> = {
  members: (n) => JSON.stringify(record(n, (i) => i)),
  deep: (n) => JSON.stringify({ a: nested(Math.min(n, 498)) }),
  'not JSON': (n) => '{"a":'.repeat(n),
  'too large numbers': (n) => `{"a":[${'1e999,'.repeat(n)}1]}`,
  'negative zeros': (n) => `{"a":[${'-0,'.repeat(n)}1]}`,
  __proto__: (n) => `{"a":[${'{"__proto__":{"b":1}},'.repeat(n)}1]}`,
  spaces: (n) => ' '.repeat(n),
}
for (const [name, text] of Object.entries(argumentTexts)) {
  grows(`parseArguments: ${name}`, 60, text, parseArguments)
}
grows('plainJson', 100, (n) => record(n, (i) => times(3, () => ({ i }))), plainJson)
grows('plainJson: deep', 60, (n) => nested(n), plainJson)

const facts = { provider: 'p', requestId: 'r', newId: (kind: string) => `${kind}-1` }
/** What becomes of the events of an answer: they are checked, folded, and shown to pages. */
const answersWith = (
  name: string,
  size: number,
  events: (n: number) => readonly ModelEvent[],
): void => {
  grows(`gate: ${name}`, size, events, (list) => {
    const gate = eventGate(facts)
    for (const event of list) gate.settle([event])
  })
  grows(`fold: ${name}`, size, events, (list) => {
    let state = createCollector()
    for (const event of list) state = applyEvent(state, event)
    return [toResponse(state), toChatResult(state)]
  })
  // The tools of an answer are at most 512, and each costs more than its call.
  if (name.startsWith('calls')) return
  grows(`session: ${name}`, size, events, async (list) => {
    const engine = createEngine({ adapter: yielding(list), tools: [anyTool] })
    const { session } = await Session.start(engine, 'go', { maxTurns: 1 })
    return Session.stringify(session)
  })
  grows(`UI stream: ${name}`, size, events, async (list) => {
    for await (const _ of toUiMessageStream(streamed(list)));
  })
}
/** The same for answers that are one text or one call, of which a session and a view can be read after every event. */
const watched = (
  name: string,
  size: number,
  events: (n: number) => readonly ModelEvent[],
): void => {
  answersWith(name, size, events)
  grows(`session of every event: ${name}`, size, events, async (list) => {
    const engine = createEngine({ adapter: yielding(list), tools: [anyTool] })
    const stream = Session.streamStart(engine, 'go', { maxTurns: 1 })
    for await (const _ of stream) void stream.session
  })
  grows(`view of every event: ${name}`, size, events, (list) => {
    let view = toView(Session.create({}))
    for (const event of list) {
      const shown = toViewEvent(event, { include: ['reasoning', 'tool_arguments'] })
      if (shown !== undefined) view = applyViewEvent(view, shown)
    }
  })
}
const anyTool = tool({
  name: 't',
  description: 'd',
  schema: { type: 'object' },
  handler: () => 'ok',
})
function yielding(events: readonly ModelEvent[]): ChatAdapter {
  return {
    provider: 'p',
    async *stream() {
      for (let at = 0; at < events.length; at += 3) yield events.slice(at, at + 3)
    },
  }
}
const started: ModelEvent = { type: 'message_started', requestId: 'r', provider: 'p' }
const ended: ModelEvent = {
  type: 'message_completed',
  message: { role: 'assistant', content: '' },
  finishReason: 'stop',
}
const call = (id: string): ToolCall => ({ id, name: 't', arguments: { a: 1 } })
watched('text deltas', 150, (n) => [
  started,
  ...times(n, (): ModelEvent => ({ type: 'text_delta', delta: 'x' })),
  ended,
])
answersWith('text blocks', 80, (n) => [
  started,
  ...times(n, (index): ModelEvent[] => [
    { type: 'text_delta', delta: 'x', index },
    { type: 'text_completed', text: 'x', index },
  ]).flat(),
  ended,
])
answersWith('open text blocks, in turn', 60, (n) => [
  started,
  ...times(n * 3, (i): ModelEvent => ({ type: 'text_delta', delta: 'x', index: i % n })),
  ended,
])
answersWith('reasoning and text in turn', 60, (n) => [
  started,
  ...times(n, (): ModelEvent[] => [
    { type: 'reasoning_delta', delta: 'x' },
    { type: 'reasoning_completed', text: 'x' },
    { type: 'text_delta', delta: 'x' },
    { type: 'text_completed', text: 'x' },
  ]).flat(),
  ended,
])
answersWith('items', 80, (n) => [
  started,
  ...times(n, (i): ModelEvent => ({
    type: 'reasoning_completed',
    text: '',
    item: { type: 'x', i },
  })),
  ended,
])
answersWith('sources', 80, (n) => [
  started,
  ...times(n, (index): ModelEvent => ({
    type: 'text_completed',
    text: 'x',
    index,
    sources: [{ type: 'url', url: 'https://a.b/' }],
  })),
  ended,
])
answersWith('images', 60, (n) => [
  started,
  ...times(n, (): ModelEvent => ({
    type: 'image_completed',
    image: { type: 'url', url: 'https://a.b/c.png' },
  })),
  ended,
])
answersWith('raw chunks', 100, (n) => [
  started,
  ...times(n, (i): ModelEvent => ({ type: 'raw_chunk', chunk: { i } })),
  ended,
])
answersWith('calls', 60, (n) => [
  started,
  ...times(n, (i): ModelEvent[] => [
    { type: 'tool_call_started', id: `c${i}`, name: 't' },
    { type: 'tool_call_delta', id: `c${i}`, argumentsDelta: '{"a":1}' },
    { type: 'tool_call_completed', call: call(`c${i}`) },
  ]).flat(),
  ended,
])
answersWith('calls with one id', 60, (n) => [
  started,
  ...times(n, (): ModelEvent[] => [
    { type: 'tool_call_started', id: 'c', name: 't' },
    { type: 'tool_call_completed', call: call('c') },
  ]).flat(),
  ended,
])
answersWith('calls with ids that are taken', 60, (n) => [
  started,
  ...times(n, (i): ModelEvent[] => {
    const id = i % 2 ? 'c' : `c_${i + 2}`
    return [
      { type: 'tool_call_started', id, name: 't' },
      { type: 'tool_call_completed', call: call(id) },
    ]
  }).flat(),
  ended,
])
answersWith('calls that grow in turn', 60, (n) => [
  started,
  ...times(n, (i): ModelEvent => ({ type: 'tool_call_started', id: `c${i}`, name: 't' })),
  ...times(4 * n, (i): ModelEvent => ({
    type: 'tool_call_delta',
    id: `c${i % n}`,
    argumentsDelta: ' ',
  })),
  ...times(n, (i): ModelEvent => ({ type: 'tool_call_completed', call: call(`c${i}`) })),
  ended,
])
watched('a call in small pieces', 150, (n) => [
  started,
  { type: 'tool_call_started', id: 'c', name: 't' },
  ...times(n, (): ModelEvent => ({ type: 'tool_call_delta', id: 'c', argumentsDelta: ' ' })),
  { type: 'tool_call_completed', call: call('c') },
  ended,
])

grows(
  'builder: blocks and calls',
  100,
  (n) => n,
  (n) => {
    const builder = messageBuilder({
      provider: 'p',
      requestId: 'r',
      emit: () => undefined,
      bounded: false,
    })
    for (let i = 0; i < n; i++) {
      builder.reasoning('x', 2 * i)
      builder.text('x', 2 * i + 1)
      builder.callDelta(`c${i}`, '{"a":')
    }
    for (let i = 0; i < n; i++) {
      builder.callDelta(`c${i}`, '1}')
      builder.textStart(2 * i + 1)
      builder.endText(2 * i + 1)
    }
    builder.finish({ finishReason: 'stop' })
  },
)

// Wires

const request = modelRequest([user('go')], { model: 'a-model' })
const sse = (events: readonly (readonly [string, unknown])[]): string =>
  events
    .map(
      ([event, data]) =>
        `${event === '' ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
    )
    .join('')

const wires: Readonly<
  Record<WireFormat, Readonly<Record<string, readonly [number, (n: number) => string]>>>
> = {
  openai_chat: (() => {
    const chunk = (delta: unknown, more: object = {}): readonly [string, unknown] => [
      '',
      { id: 'x', model: 'm', choices: [{ index: 0, delta, ...more }] },
    ]
    const end = [chunk({}, { finish_reason: 'stop' }), ['', '[DONE]']] as const
    const body = (deltas: readonly unknown[]): string =>
      sse([...deltas.map((delta) => chunk(delta)), ...end])
    return {
      text: [100, (n) => body(times(n, () => ({ content: 'x' })))],
      'text and reasoning in turn': [
        100,
        (n) => body(times(n, (i) => (i % 2 ? { content: 'x' } : { reasoning: 'x' }))),
      ],
      'reasoning details': [
        100,
        (n) =>
          body(
            times(n, (i) => ({
              reasoning_details: [{ type: 'reasoning.text', text: 'x', index: i >> 1 }],
            })),
          ),
      ],
      'one reasoning detail in pieces': [
        100,
        (n) =>
          body(
            times(n, () => ({
              reasoning_details: [{ type: 'reasoning.text', text: 'x', index: 0 }],
            })),
          ),
      ],
      calls: [
        60,
        (n) =>
          body(
            times(n, (i) => ({
              tool_calls: [{ index: i, id: `c${i}`, function: { name: 't', arguments: '{}' } }],
            })),
          ),
      ],
      'calls that grow in turn': [
        60,
        (n) =>
          body([
            ...times(n, (i) => ({
              tool_calls: [{ index: i, id: `c${i}`, function: { name: 't', arguments: '' } }],
            })),
            ...times(3 * n, (i) => ({
              tool_calls: [{ index: i % n, function: { arguments: ' ' } }],
            })),
          ]),
      ],
      'calls without an index': [
        60,
        (n) =>
          body([
            ...times(n, (i) => ({
              tool_calls: [{ id: `c${i}`, function: { name: 't', arguments: '' } }],
            })),
            ...times(3 * n, (i) => ({
              tool_calls: [{ id: `c${i % n}`, function: { arguments: ' ' } }],
            })),
          ]),
      ],
      'calls without ids': [
        60,
        (n) =>
          body(
            times(n, () => ({
              tool_calls: [{ index: 0, function: { name: 't', arguments: '{"a":1}' } }],
            })),
          ),
      ],
      'a name again and again': [
        60,
        (n) =>
          body([
            { tool_calls: [{ index: 0, function: { name: 't', arguments: '{' } }] },
            ...times(n, () => ({
              tool_calls: [{ index: 0, function: { name: 't', arguments: ' ' } }],
            })),
          ]),
      ],
      'a call in small pieces': [
        100,
        (n) =>
          body([
            { tool_calls: [{ index: 0, id: 'c', function: { name: 't', arguments: '{"a":"' } }] },
            ...times(n, () => ({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] })),
          ]),
      ],
      annotations: [
        100,
        (n) =>
          body([
            { content: 'x'.repeat(n) },
            ...times(n, (i) => ({
              annotations: [
                {
                  type: 'url_citation',
                  url_citation: { url: 'https://a.b', start_index: i, end_index: i + 1 },
                },
              ],
            })),
          ]),
      ],
      'annotations and blocks': [
        60,
        (n) =>
          body(
            times(n, (i) =>
              i % 2
                ? { reasoning: 'x' }
                : {
                    content: 'xy',
                    annotations: [
                      {
                        type: 'url_citation',
                        url_citation: { url: 'https://a.b', start_index: i, end_index: i + 1 },
                      },
                    ],
                  },
            ),
          ),
      ],
      refusals: [100, (n) => body(times(n, () => ({ refusal: 'x' })))],
      images: [
        60,
        (n) => body(times(n, () => ({ images: [{ image_url: { url: 'https://a.b/c.png' } }] }))),
      ],
      audio: [100, (n) => body(times(n, () => ({ audio: { data: 'xx', transcript: 'y' } })))],
      'extra members': [
        60,
        (n) =>
          sse([
            ...times(n, (i) => ['', { choices: [], [`x${i}`]: i }] as const),
            chunk({ content: 'x' }),
            ...end,
          ]),
      ],
      logprobs: [
        100,
        (n) =>
          sse([
            ...times(n, () => chunk({ content: 'x' }, { logprobs: { content: [{ a: 1 }] } })),
            ...end,
          ]),
      ],
    }
  })(),
  openai_responses: (() => {
    const event = (type: string, data: object): readonly [string, unknown] => [
      type,
      { type, ...data },
    ]
    const end = event('response.completed', {
      response: { id: 'r', status: 'completed', output: [] },
    })
    const text = (i: number, delta = 'x') =>
      event('response.output_text.delta', {
        output_index: i,
        content_index: 0,
        item_id: `m${i}`,
        delta,
      })
    const done = (output: readonly unknown[]) =>
      event('response.completed', { response: { id: 'r', status: 'completed', output } })
    return {
      text: [100, (n) => sse([...times(n, () => text(0)), end])],
      'messages in turn': [60, (n) => sse([...times(3 * n, (i) => text(i % n)), end])],
      'messages that end': [
        60,
        (n) =>
          sse([
            ...times(n, (i) => [
              text(i),
              event('response.output_text.done', { output_index: i, content_index: 0, text: 'x' }),
            ]).flat(),
            done(
              times(n, (i) => ({
                type: 'message',
                id: `m${i}`,
                content: [{ type: 'output_text', text: 'x' }],
              })),
            ),
          ]),
      ],
      calls: [
        60,
        (n) =>
          sse([
            ...times(n, (i) => [
              event('response.output_item.added', {
                output_index: i,
                item: { type: 'function_call', id: `f${i}`, call_id: `c${i}`, name: 't' },
              }),
              event('response.function_call_arguments.delta', {
                output_index: i,
                item_id: `f${i}`,
                delta: '{}',
              }),
              event('response.output_item.done', {
                output_index: i,
                item: {
                  type: 'function_call',
                  id: `f${i}`,
                  call_id: `c${i}`,
                  name: 't',
                  arguments: '{}',
                },
              }),
            ]).flat(),
            end,
          ]),
      ],
      'calls that grow in turn': [
        60,
        (n) =>
          sse([
            ...times(n, (i) =>
              event('response.output_item.added', {
                output_index: i,
                item: { type: 'function_call', id: `f${i}`, call_id: `c${i}`, name: 't' },
              }),
            ),
            ...times(3 * n, (i) =>
              event('response.function_call_arguments.delta', {
                output_index: i % n,
                item_id: `f${i % n}`,
                delta: ' ',
              }),
            ),
            end,
          ]),
      ],
      reasoning: [
        60,
        (n) =>
          sse([
            ...times(n, (i) => [
              event('response.reasoning_summary_text.delta', {
                output_index: i,
                summary_index: 0,
                delta: 'x',
              }),
              event('response.output_item.done', {
                output_index: i,
                item: {
                  type: 'reasoning',
                  id: `r${i}`,
                  summary: [{ text: 'x' }],
                  encrypted_content: 'e',
                },
              }),
            ]).flat(),
            end,
          ]),
      ],
      'parts of a summary': [
        100,
        (n) =>
          sse([
            ...times(n, (i) =>
              event('response.reasoning_summary_text.delta', {
                output_index: 0,
                summary_index: i,
                delta: 'x',
              }),
            ),
            end,
          ]),
      ],
      'items of the provider': [
        60,
        (n) =>
          sse([
            ...times(n, (i) =>
              event('response.output_item.done', {
                output_index: i,
                item: { type: 'web_search_call', id: `w${i}`, status: 'completed' },
              }),
            ),
            end,
          ]),
      ],
      annotations: [
        100,
        (n) =>
          sse([
            text(0, 'x'.repeat(n)),
            ...times(n, (i) =>
              event('response.output_text.annotation.added', {
                output_index: 0,
                content_index: 0,
                item_id: 'm0',
                annotation: {
                  type: 'url_citation',
                  url: 'https://a.b',
                  start_index: i,
                  end_index: i + 1,
                },
              }),
            ),
            end,
          ]),
      ],
      'late annotations': [
        60,
        (n) =>
          sse([
            ...times(n, (i) => [
              text(i),
              event('response.output_text.done', {
                output_index: i,
                content_index: 0,
                item_id: `m${i}`,
                text: 'x',
              }),
            ]).flat(),
            done(
              times(n, (i) => ({
                type: 'message',
                id: `m${i}`,
                content: [
                  {
                    type: 'output_text',
                    text: 'x',
                    annotations: [
                      { type: 'url_citation', url: 'https://a.b', start_index: 0, end_index: 1 },
                    ],
                  },
                ],
              })),
            ),
          ]),
      ],
      'custom calls': [
        60,
        (n) =>
          sse([
            done(
              times(n, (i) => ({
                type: 'custom_tool_call',
                id: `u${i}`,
                call_id: `c${i}`,
                name: 't',
                input: 'x',
              })),
            ),
          ]),
      ],
      'a whole answer': [
        60,
        (n) =>
          sse([
            done(
              times(n, (i) => ({
                type: 'message',
                id: `m${i}`,
                content: times(3, () => ({ type: 'output_text', text: 'x' })),
              })),
            ),
          ]),
      ],
    }
  })(),
  anthropic: (() => {
    const event = (type: string, data: object): readonly [string, unknown] => [
      type,
      { type, ...data },
    ]
    const start = event('message_start', {
      message: { id: 'm', model: 'x', usage: { input_tokens: 1 } },
    })
    const end = [
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
      event('message_stop', {}),
    ]
    const block = (index: number, content_block: object) =>
      event('content_block_start', { index, content_block })
    const delta = (index: number, data: object) =>
      event('content_block_delta', { index, delta: data })
    const stop = (index: number) => event('content_block_stop', { index })
    const body = (events: readonly (readonly [string, unknown])[]): string =>
      sse([start, ...events, ...end])
    return {
      text: [
        100,
        (n) =>
          body([
            block(0, { type: 'text', text: '' }),
            ...times(n, () => delta(0, { type: 'text_delta', text: 'x' })),
            stop(0),
          ]),
      ],
      blocks: [
        60,
        (n) =>
          body(
            times(n, (i) => [
              block(i, { type: 'text', text: '' }),
              delta(i, { type: 'text_delta', text: 'x' }),
              stop(i),
            ]).flat(),
          ),
      ],
      'open blocks, in turn': [
        60,
        (n) =>
          body([
            ...times(n, (i) => block(i, { type: 'text', text: '' })),
            ...times(3 * n, (i) => delta(i % n, { type: 'text_delta', text: 'x' })),
          ]),
      ],
      'blocks with one index': [
        60,
        (n) =>
          body(
            times(n, () => [
              block(0, { type: 'text', text: '' }),
              delta(0, { type: 'text_delta', text: 'x' }),
            ]).flat(),
          ),
      ],
      thinking: [
        60,
        (n) =>
          body(
            times(n, (i) => [
              block(i, { type: 'thinking', thinking: '' }),
              delta(i, { type: 'thinking_delta', thinking: 'x' }),
              delta(i, { type: 'signature_delta', signature: 's' }),
              stop(i),
            ]).flat(),
          ),
      ],
      calls: [
        60,
        (n) =>
          body(
            times(n, (i) => [
              block(i, { type: 'tool_use', id: `c${i}`, name: 't', input: {} }),
              delta(i, { type: 'input_json_delta', partial_json: '{}' }),
              stop(i),
            ]).flat(),
          ),
      ],
      'calls that grow in turn': [
        60,
        (n) =>
          body([
            ...times(n, (i) => block(i, { type: 'tool_use', id: `c${i}`, name: 't', input: {} })),
            ...times(3 * n, (i) => delta(i % n, { type: 'input_json_delta', partial_json: ' ' })),
          ]),
      ],
      citations: [
        60,
        (n) =>
          body([
            block(0, { type: 'text', text: '' }),
            ...times(n, () =>
              delta(0, {
                type: 'citations_delta',
                citation: { type: 'x', url: 'https://a.b', cited_text: 'y' },
              }),
            ),
            delta(0, { type: 'text_delta', text: 'x' }),
            stop(0),
          ]),
      ],
      'cited blocks': [
        60,
        (n) =>
          body(
            times(n, (i) => [
              block(i, { type: 'text', text: '' }),
              delta(i, { type: 'citations_delta', citation: { type: 'x', url: 'https://a.b' } }),
              delta(i, { type: 'text_delta', text: 'x' }),
              stop(i),
            ]).flat(),
          ),
      ],
      'cited blocks that end backwards': [
        60,
        (n) =>
          body([
            ...times(n, (i) => [
              block(i, { type: 'text', text: '' }),
              delta(i, { type: 'citations_delta', citation: { type: 'x', url: 'https://a.b' } }),
              delta(i, { type: 'text_delta', text: 'x' }),
            ]).flat(),
            ...times(n, (i) => stop(n - 1 - i)),
          ]),
      ],
      'server tools': [
        60,
        (n) =>
          body(
            times(n, (i) => [
              block(i, { type: 'server_tool_use', id: `s${i}`, name: 'web', input: {} }),
              delta(i, { type: 'input_json_delta', partial_json: '{}' }),
              stop(i),
            ]).flat(),
          ),
      ],
      'unknown deltas': [
        60,
        (n) =>
          body([
            block(0, { type: 'compaction', content: '' }),
            ...times(n, () => delta(0, { type: 'compaction_delta', content: 'x' })),
            stop(0),
          ]),
      ],
      counts: [
        60,
        (n) =>
          body(times(n, (i) => event('message_delta', { delta: {}, usage: { output_tokens: i } }))),
      ],
      'counts of many names': [
        60,
        (n) =>
          body(times(n, (i) => event('message_delta', { delta: {}, usage: { [`x${i}`]: i } }))),
      ],
    }
  })(),
  gemini: (() => {
    const chunk = (parts: readonly unknown[], more: object = {}): readonly [string, unknown] => [
      '',
      { responseId: 'r', candidates: [{ content: { parts }, ...more }] },
    ]
    const end = chunk([], { finishReason: 'STOP' })
    const body = (parts: readonly (readonly unknown[])[]): string =>
      sse([...parts.map((list) => chunk(list)), end])
    return {
      text: [100, (n) => body(times(n, () => [{ text: 'x' }]))],
      'many parts': [100, (n) => body([times(n, (i) => ({ text: 'x', thought: i % 2 === 0 }))])],
      'thoughts in turn': [
        100,
        (n) => body(times(n, (i) => [{ text: 'x', thought: i % 2 === 0 }])),
      ],
      signatures: [60, (n) => body(times(n, (i) => [{ text: 'x', thoughtSignature: `s${i}` }]))],
      calls: [
        60,
        (n) =>
          body(times(n, (i) => [{ functionCall: { id: `c${i}`, name: 't', args: { a: 1 } } }])),
      ],
      'calls with one id': [
        60,
        (n) => body(times(n, () => [{ functionCall: { id: 'c', name: 't', args: { a: 1 } } }])),
      ],
      'calls without an id': [
        60,
        (n) => body(times(n, () => [{ functionCall: { name: 't', args: { a: 1 } } }])),
      ],
      'arguments in pieces': [
        60,
        (n) =>
          body([
            [{ functionCall: { name: 't', partialArgs: [], willContinue: true } }],
            ...times(n, (i) => [
              {
                functionCall: {
                  partialArgs: [{ jsonPath: `$.a[${i}]`, numberValue: 1 }],
                  willContinue: true,
                },
              },
            ]),
          ]),
      ],
      'one argument in pieces': [
        60,
        (n) =>
          body([
            [{ functionCall: { name: 't', partialArgs: [], willContinue: true } }],
            ...times(n, () => [
              {
                functionCall: {
                  partialArgs: [{ jsonPath: '$.a', stringValue: 'x', willContinue: true }],
                  willContinue: true,
                },
              },
            ]),
          ]),
      ],
      'a long path': [
        60,
        (n) =>
          body([
            [
              {
                functionCall: {
                  name: 't',
                  partialArgs: [{ jsonPath: `$${'.a'.repeat(n)}`, numberValue: 1 }],
                  willContinue: true,
                },
              },
            ],
          ]),
      ],
      items: [60, (n) => body(times(n, (i) => [{ executableCode: { code: `${i}` } }]))],
      grounding: [
        60,
        (n) =>
          sse([
            chunk([{ text: 'x'.repeat(n) }]),
            chunk([], {
              finishReason: 'STOP',
              groundingMetadata: {
                groundingChunks: times(n, () => ({ web: { uri: 'https://a.b' } })),
                groundingSupports: times(n, (i) => ({
                  segment: { startIndex: i, endIndex: i + 1, text: 'x' },
                  groundingChunkIndices: [i],
                })),
              },
            }),
          ]),
      ],
      'grounding again and again': [
        60,
        (n) =>
          sse([
            ...times(n, (i) => chunk([{ text: 'x' }], { groundingMetadata: { [`g${i}`]: [1] } })),
            end,
          ]),
      ],
      citations: [
        60,
        (n) =>
          sse([
            ...times(n, (i) =>
              chunk([{ text: 'x' }], {
                citationMetadata: {
                  citationSources: [{ startIndex: i, endIndex: i + 1, uri: 'https://a.b' }],
                },
              }),
            ),
            end,
          ]),
      ],
      'wrong quotes': [
        150,
        (n) =>
          sse([
            chunk([{ text: 'x'.repeat(n) }]),
            chunk([], {
              finishReason: 'STOP',
              groundingMetadata: {
                groundingChunks: [{ web: { uri: 'https://a.b' } }],
                groundingSupports: times(n, (i) => ({
                  segment: { startIndex: i, endIndex: i + 1, text: 'y' },
                  groundingChunkIndices: [0],
                })),
              },
            }),
          ]),
      ],
    }
  })(),
}

const encoder = new TextEncoder()

function bodyOf(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = encoder.encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + size))
      at += size
    },
  })
}

for (const [format, bodies] of Object.entries(wires)) {
  for (const [name, [size, body]] of Object.entries(bodies)) {
    // Where a body is cut matters to what splits it, which is the same for all.
    for (const pieces of name === 'text' ? [97, Infinity] : [Infinity]) {
      grows(
        `${format}: ${name}${pieces === 97 ? ', in small pieces' : ''}`,
        size >> 1,
        body,
        async (text) => {
          const adapter = adapterOf(
            format as WireFormat,
            async () =>
              new Response(bodyOf(text, pieces), {
                headers: { 'content-type': 'text/event-stream' },
              }),
          )
          try {
            for await (const _ of adapter.stream(request, { requestId: 'r' }));
          } catch (error) {
            if (name !== 'a long path') throw error
          }
        },
      )
    }
  }
}

// Structured output

const anyFormat = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
}
const answered = (name: string, size: number, text: (n: number) => string): void =>
  grows(
    `structured: ${name}`,
    size,
    (n) => [started, { type: 'text_delta', delta: text(n) } as const, ended] as const,
    async (events) => {
      const engine = createEngine({ adapter: yielding(events) })
      for await (const _ of streamGenerate(engine, 'go', { responseFormat: anyFormat, repair: 0 }));
    },
  )
answered('members', 150, (n) => JSON.stringify(record(n, (i) => i)))
answered('fences', 150, (n) => '```json\n{"a":'.repeat(n))
answered('fences around', 150, (n) => `\`\`\`json\n${JSON.stringify(record(n, (i) => i))}\n\`\`\``)
answered('ticks', 150, (n) => '`'.repeat(n))
answered('words', 150, (n) => 'word '.repeat(n))
grows(
  'jsonSchema()',
  60,
  (n) => shapes['wide']?.(n) ?? {},
  (schema) => jsonSchema('a', schema),
)

// Sessions and conversations

function conversation(n: number): readonly Message[] {
  return times(n, (i): Message[] => [
    user(`question ${i}`),
    {
      role: 'assistant',
      content: '',
      toolCalls: [
        { id: `c${i}`, name: 't', arguments: { i } },
        { id: `d${i}`, name: 't', arguments: { i } },
      ],
    },
    { role: 'tool', toolCallId: `c${i}`, content: 'ok' },
    { role: 'tool', toolCallId: `d${i}`, content: 'ok' },
    { role: 'assistant', content: 'done' },
  ]).flat()
}
const saved = (n: number) => Session.create({ id: 's', messages: conversation(n) })
grows('Session.stringify', 30, saved, (session) => Session.stringify(session))
grows(
  'Session.parse',
  30,
  (n) => Session.stringify(saved(n)),
  (text) => Session.parse(text),
)
/** A session of a file that says of every call that it waits. */
const waiting = (n: number): Session => {
  const session = saved(n)
  const pendingApprovals = session.thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  const waits = { state: 'awaiting_approval', told: 'no' } as const
  const calls = Object.fromEntries(pendingApprovals.map(({ id }) => [id, waits]))
  return { ...session, status: 'awaiting_approval', pendingApprovals, calls }
}
grows('Session.pending: many calls that wait', 30, waiting, (session) => Session.pending(session))
grows('Session.calls: many calls that wait', 30, waiting, (session) => Session.calls(session))
grows('toView: many calls that wait', 30, waiting, (session) => toView(session))
grows(
  'Session.parse: a long context',
  100,
  (n) => Session.stringify(Session.create({ id: 's', context: record(n, (i) => ({ i })) })),
  (text) => Session.parse(text),
)
grows(
  'Session.parse: bad messages',
  50,
  (n) =>
    JSON.stringify({
      ...saved(1),
      thread: { metadata: {}, messages: times(n, () => ({ role: 'nobody', x: 1 })) },
    }),
  (text) => silently(() => Session.parse(text))(),
)
grows(
  'Session.parse: one message of many calls',
  30,
  (n) =>
    JSON.stringify({
      ...saved(1),
      thread: {
        metadata: {},
        messages: [
          { role: 'assistant', content: '', toolCalls: times(n, (i) => call(`c${i}`)) },
          ...times(n, (i) => ({ role: 'tool', content: '', toolCallId: `c${i}` })),
        ],
      },
    }),
  (text) => Session.parse(text),
)
grows(
  'Session.parse: unknown keys',
  50,
  (n) => JSON.stringify({ ...saved(1), ...record(n, () => 1, 'statu') }),
  (text) => silently(() => Session.parse(text))(),
)
grows(
  'Session.parse: __proto__',
  50,
  (n) =>
    JSON.stringify({ ...saved(1), context: record(n, () => 1) }).replaceAll(
      '"k',
      '"__proto__":1,"k',
    ),
  (text) => Session.parse(text),
)
grows('toView', 30, saved, (session) => toView(session))
grows('toUiMessages', 30, saved, (session) => toUiMessages(session))
grows(
  'fromUiMessages',
  30,
  (n) => toUiMessages(saved(n)),
  (messages) => fromUiMessages(messages, { accept: ['tools'] }),
)
grows(
  'fromUiMessages: one message of many parts',
  60,
  (n) => [
    {
      id: 'm',
      role: 'assistant' as const,
      parts: times(n, (i) => [
        { type: 'step-start' },
        { type: 'tool-t', toolCallId: `c${i}`, state: 'output-available', input: {}, output: 1 },
        { type: 'text', text: 'x' },
      ]).flat(),
    },
  ],
  (messages) => fromUiMessages(messages, { accept: ['tools'] }),
)
grows('isSendable', 30, (n) => ({ messages: conversation(n), metadata: {} }), isSendable)
grows('validateRequest', 30, (n) => modelRequest(conversation(n)), validateRequest)
grows('compactMessages', 60, conversation, (messages) =>
  compactMessages({ budget: 50, keepLast: 4 })({
    messages,
    stepNumber: 1,
    steps: [],
    context: {},
    signal: new AbortController().signal,
  }),
)
grows('a session that goes on', 20, saved, async (session) => {
  const engine = createEngine({
    adapter: yielding([started, { type: 'text_delta', delta: 'x' }, ended]),
    tools: [anyTool],
  })
  return Session.reply(engine, session, 'more')
})
grows(
  'MCP: a result of many texts',
  100,
  (n) => ({ content: times(n, () => ({ type: 'text', text: 'x' })) }),
  (result) =>
    resultOf(result, { name: 't', output: undefined, maxResultBytes: 1e9, accepts: () => true }),
)
grows(
  'MCP: structured content',
  100,
  (n) => ({
    content: [{ type: 'text', text: JSON.stringify(times(n, (i) => i)) }],
    structuredContent: times(n, (i) => i),
  }),
  (result) =>
    resultOf(result, {
      name: 't',
      output: { type: 'array', uniqueItems: true },
      maxResultBytes: 1e9,
      accepts: () => true,
    }),
)
grows(
  'MCP: a blob',
  100,
  (n) => ({ content: [{ type: 'resource', resource: { uri: 'x'.repeat(n), blob: 'AAAA' } }] }),
  (result) =>
    resultOf(result, { name: 't', output: undefined, maxResultBytes: 1e9, accepts: () => true }),
)

await reportSteps(cases, 2)
