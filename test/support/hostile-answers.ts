import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { anthropic } from '../../src/anthropic.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import { gemini } from '../../src/gemini.ts'
import {
  createEngine,
  isAllmError,
  isSendable,
  Session,
  tool,
  user,
  type StreamEvent,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import type { Fetch } from '../../src/providers/http/call.ts'
import { fake, type Script } from '../../src/testing.ts'
import { wireFormats, type WireFormat } from '../../src/testing/server/wire-format.ts'
import { renderWire, seededRandom } from '../../src/testing/server/wire.ts'
import { recordedCases, recordingRoots } from './recordings.ts'

/**
 * Answers of a provider that were changed at random, and what must hold for every one of them (laws 2, 5, 12).
 *
 * Everything here is a plain function of a seed: the same seed gives the same bytes, on every machine. The property test and the
 * fuzzer share it.
 */
export interface HostileAnswer {
  readonly format: WireFormat
  readonly seed: number
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
  /** What was done to a good answer. */
  readonly changes: readonly string[]
}

export { wireFormats as hostileFormats }

/** A good answer of a format with one to four changes. */
export function hostileAnswer(format: WireFormat, seed: number): HostileAnswer {
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T // Never empty.
  const good = pick(goodAnswers(format))
  const changes: string[] = []
  let text = good.text
  const count = 1 + Math.floor(random() * 4)
  for (let n = 0; n < count; n++) {
    const [name, change] = pick(textChanges)
    text = change(text, random)
    changes.push(name)
  }
  let body = new TextEncoder().encode(text)
  if (random() < 0.15) {
    const [name, change] = pick(byteChanges)
    body = change(body, random)
    changes.push(name)
  }
  const contentType = good.streamed ? 'text/event-stream' : 'application/json'
  return { format, seed, contentType, body, changes }
}

/** An adapter of a format whose calls are answered with these bodies, in order; the last one is repeated. */
export function answeringAdapter(
  format: WireFormat,
  answers: readonly Pick<HostileAnswer, 'body' | 'contentType'>[],
): ChatAdapter {
  let call = 0
  const fetch = async (): Promise<Response> => {
    const answer = answers[Math.min(call++, answers.length - 1)]
    return new Response(answer?.body.slice(), {
      headers: { 'content-type': answer?.contentType ?? '' },
    })
  }
  return adapterOf(format, fetch)
}

/** The adapter of a format with a `fetch` of the test. */
export function adapterOf(format: WireFormat, fetch: Fetch): ChatAdapter {
  const options = { apiKey: 'test', fetch }
  switch (format) {
    case 'openai_chat':
      return openai({ ...options, api: 'chat' })
    case 'openai_responses':
      return openai({ ...options, api: 'responses' })
    case 'anthropic':
      return anthropic(options)
    case 'gemini':
      return gemini(options)
    default:
      throw new TypeError(`unknown format ${String(format satisfies never)}`)
  }
}

/**
 * Runs a session whose first model call gets the hostile answer, and returns the first thing that is wrong, or `undefined`.
 *
 * After every event: the event equals its JSON, the session can be saved, what was saved can be read and sent. One cut, and the
 * end, are resumed. What is thrown is an error of the library.
 */
export async function problemWith(answer: HostileAnswer): Promise<string | undefined> {
  const { format, seed } = answer
  const adapter = answeringAdapter(format, [answer, plainAnswer(format)])
  const engine = createEngine({
    adapter,
    model: 'a-model',
    retry: false,
    tools,
    newId: countedIds(),
  })
  const cut = Math.floor(seededRandom(seed ^ 0x5bd1e995)() * 12)
  const stream = Session.streamStart(engine, [user('go')], { maxTurns: 3 })
  let count = 0
  try {
    for await (const event of stream) {
      const found = changedByJson(event) ?? (await problemOfSession(stream.session, count === cut))
      if (found !== undefined) return `event ${count} (${event.type}): ${found}`
      count++
    }
  } catch (error) {
    if (!isAllmError(error)) return `after ${count} events: threw ${String(error)}`
  }
  const found = await problemOfSession(stream.session, true)
  return found === undefined ? undefined : `at the end, after ${count} events: ${found}`
}

function changedByJson(event: StreamEvent): string | undefined {
  const text = JSON.stringify(event)
  return isDeepStrictEqual(JSON.parse(text), event) ? undefined : `is not plain JSON: ${cut(text)}`
}

async function problemOfSession(session: Session, resumes: boolean): Promise<string | undefined> {
  let saved: Session
  try {
    saved = Session.parse(Session.stringify(session))
  } catch (error) {
    return `cannot be saved: ${cut(String(error))}`
  }
  if (!isDeepStrictEqual(saved, session)) return 'is changed by saving'
  if (saved.status !== 'awaiting_tools' && !isSendable(saved.thread)) return 'is not sendable'
  if (!resumes) return undefined
  const engine = createEngine({ adapter: fake({ script: [['text', 'on we go']] }), tools })
  try {
    const on =
      saved.status === 'idle' || saved.status === 'error'
        ? await Session.resume(engine, saved)
        : await Session.reply(engine, saved, 'and then?')
    const { status, haltedReason } = on.session
    // An item of the provider that awaits an answer stops the resumed run too.
    if (status === 'completed' || haltedReason === 'provider_item') return undefined
    return `resumed as ${status}`
  } catch (error) {
    return `cannot be resumed: ${cut(String(error))}`
  }
}

function cut(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

function countedIds(): (kind: string) => string {
  let count = 0
  return (kind) => `${kind}-${++count}`
}

const anything = { type: 'object', properties: {} }

const tools = ['weather', 'pay', 'get_weather', 'lookup'].map((name) =>
  tool({ name, description: name, schema: anything, handler: (args) => ({ got: args }) }),
)

/** An answer of plain text, for the calls after the hostile one. */
export function plainAnswer(
  format: WireFormat,
  text = 'done',
): Pick<HostileAnswer, 'body' | 'contentType'> {
  const { text: body } = rendered(format, [['text', text]], true)
  return { body: new TextEncoder().encode(body), contentType: 'text/event-stream' }
}

interface GoodAnswer {
  readonly text: string
  readonly streamed: boolean
}

const known = new Map<WireFormat, readonly GoodAnswer[]>()

/** Good answers of a format: scripts of every kind, streamed and whole, and the recordings of this repository. */
function goodAnswers(format: WireFormat): readonly GoodAnswer[] {
  const list = known.get(format) ?? [
    ...scripts.flatMap((script) => [
      rendered(format, script, true),
      rendered(format, script, true),
      rendered(format, script, false),
    ]),
    ...recorded(format),
  ]
  known.set(format, list)
  return list
}

function rendered(format: WireFormat, script: Script, streamed: boolean): GoodAnswer {
  const { frames } = renderWire(format, script, { stream: streamed })
  const text = frames.map(({ bytes }) => new TextDecoder().decode(bytes)).join('')
  return { text, streamed }
}

const endpoints: Readonly<Record<WireFormat, string>> = {
  openai_chat: 'chat/completions',
  openai_responses: 'responses',
  anthropic: 'messages',
  gemini: 'streamGenerateContent',
}

function recorded(format: WireFormat): readonly GoodAnswer[] {
  return recordedCases(recordingRoots.slice(0, 1))
    .filter(({ endpoint, streaming }) => streaming && endpoint === endpoints[format])
    .map(({ folder }) => ({
      text: readFileSync(join(folder, 'response.sse'), 'utf8'),
      streamed: true,
    }))
}

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const usage = { inputTokens: 12, outputTokens: 7, reasoningTokens: 3, cachedInputTokens: 2 }

const scripts: readonly Script[] = [
  [
    ['text', 'Hello, '],
    ['text', 'world.'],
    ['usage', usage],
    ['finish', 'stop'],
  ],
  [
    ['reasoning', 'Let me see.', { opaque: 'c2lnbmF0dXJl' }],
    ['text', 'I will look.'],
    ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris', days: [1, 2] } }],
    ['tool_call', { id: 'call_2', name: 'pay', arguments: { amount: 12.5, to: { name: 'Ann' } } }],
    ['usage', usage],
  ],
  [
    ['tool_call_delta', { id: 'call_1', name: 'pay', argumentsDelta: '{"amount":' }],
    ['tool_call_delta', { id: 'call_1', argumentsDelta: '7, "note": ["a", {"b": null}]}' }],
    ['tool_call', { id: 'call_1', name: 'pay' }],
    ['tool_call', { id: 'call_2', name: 'lookup', arguments: {} }],
  ],
  [
    [
      'ok',
      {
        message: {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Here it is.' },
            { type: 'image', image: { type: 'base64', base64: png, mimeType: 'image/png' } },
          ],
        },
        usage,
      },
    ],
  ],
]

type Random = () => number

/** JSON that a provider has no reason to send. */
const hostileTokens: readonly string[] = [
  '1e999',
  '-1e999',
  '1e308',
  '-0',
  '-1',
  '0.5',
  '9007199254740993',
  'null',
  'true',
  '""',
  '"x"',
  '"call_1"',
  '"data:image/png;base64,!!!"',
  '"!not base64!"',
  '"\\ud800"',
  '"\\u0000"',
  '[]',
  '{}',
  '[1e999,{"a":-1e999}]',
  '{"__proto__":{"polluted":1}}',
  '{"__proto__":null,"constructor":{"prototype":{"polluted":1}}}',
  '{"toString":1,"hasOwnProperty":1,"toJSON":1}',
  nested(300),
  nested(499),
  nested(520),
  nested(7000),
  `{"a":${'{"b":'.repeat(600)}1${'}'.repeat(600)}}`,
]

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

/** Texts for tool arguments, which are JSON inside a JSON string. */
const hostileArguments: readonly string[] = [
  '{"amount":1e999}',
  '{"a":{"b":[-1e999]}}',
  '{"__proto__":{"admin":true},"amount":1}',
  `{"a":${nested(499)}}`,
  `{"a":${nested(500)}}`,
  `{"a":${nested(6000)}}`,
  '{"amount":-0}',
  '{"amount":1,"amount":1e400}',
  '[1]',
  '{',
  '1e999',
  ' ',
]

type Change<T> = readonly [name: string, (value: T, random: Random) => T]

const textChanges: readonly Change<string>[] = [
  ['a value', (text, random) => inDocument(text, random, replaceValue)],
  ['a value', (text, random) => inDocument(text, random, replaceValue)],
  ['a number', (text, random) => inDocument(text, random, replaceNumber)],
  ['a member', (text, random) => inDocument(text, random, addMember)],
  ['an item twice', (text, random) => inDocument(text, random, repeatItem)],
  ['arguments', (text, random) => inDocument(text, random, replaceArguments)],
  ['ids alike', (text) => text.replaceAll(/call_\d/g, 'call_1')],
  ['an event twice', (text, random) => amongEvents(text, random, 'repeat')],
  ['an event dropped', (text, random) => amongEvents(text, random, 'drop')],
  ['events swapped', (text, random) => amongEvents(text, random, 'swap')],
  ['an end marker too early', (text, random) => amongEvents(text, random, 'done')],
  ['only [DONE]', (text, random) => (random() < 0.2 ? 'data: [DONE]\n\n' : text)],
]

const byteChanges: readonly Change<Uint8Array<ArrayBuffer>>[] = [
  ['cut', (bytes, random) => bytes.slice(0, Math.floor(random() * bytes.length))],
  [
    'a byte',
    (bytes, random) => {
      const copy = bytes.slice()
      for (let n = 0; n < 1 + random() * 3; n++) {
        copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256)
      }
      return copy
    },
  ],
]

/** Changes one JSON document of a body: the data of an event, or the whole body. */
function inDocument(
  text: string,
  random: Random,
  change: (value: unknown, random: Random) => Changed | undefined,
): string {
  const lines = text.split('\n')
  const data = lines.flatMap((line, index) =>
    line.startsWith('data: {') || line.startsWith('{') ? [index] : [],
  )
  const at = data[Math.floor(random() * data.length)]
  if (at === undefined) return text
  const line = lines[at] ?? ''
  const start = line.indexOf('{')
  try {
    const changed = change(JSON.parse(line.slice(start)), random)
    if (changed === undefined) return text
    const json = JSON.stringify(changed.value).replace(JSON.stringify(mark), () => changed.token)
    lines[at] = line.slice(0, start) + json
  } catch {
    return text
  }
  return lines.join('\n')
}

/** A document with a mark in it, and the text that takes its place: not every JSON text can be written from a value. */
interface Changed {
  readonly value: unknown
  readonly token: string
}

const mark = '@@here@@'

interface Place {
  readonly parent: object
  readonly key: string | number
  readonly value: unknown
}

function placesOf(value: unknown): readonly Place[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  return [...keys].flatMap((key) => {
    const member: unknown = Reflect.get(value, key)
    return [{ parent: value, key, value: member }, ...placesOf(member)]
  })
}

function pickFrom<T>(list: readonly T[], random: Random): T | undefined {
  return list[Math.floor(random() * list.length)]
}

function replaceAt(
  value: unknown,
  place: Place | undefined,
  token: string | undefined,
): Changed | undefined {
  if (place === undefined || token === undefined) return undefined
  Reflect.set(place.parent, place.key, mark)
  return { value, token }
}

function replaceValue(value: unknown, random: Random): Changed | undefined {
  return replaceAt(value, pickFrom(placesOf(value), random), pickFrom(hostileTokens, random))
}

function replaceNumber(value: unknown, random: Random): Changed | undefined {
  const numbers = placesOf(value).filter((place) => typeof place.value === 'number')
  return replaceAt(value, pickFrom(numbers, random), pickFrom(hostileTokens.slice(0, 7), random))
}

function addMember(value: unknown, random: Random): Changed | undefined {
  const objects = placesOf(value)
    .map((place) => place.value)
    .filter((item): item is object => typeof item === 'object' && item !== null)
  const target = pickFrom([value as object, ...objects], random) // A document is an object.
  const name = pickFrom(['__proto__', 'index', 'id', 'extra', 'citations', 'usage'], random) ?? 'id'
  if (target === undefined || Array.isArray(target)) return undefined
  Object.defineProperty(target, name, { value: mark, enumerable: true, configurable: true })
  const token = pickFrom(hostileTokens, random)
  return token === undefined ? undefined : { value, token }
}

function repeatItem(value: unknown, random: Random): Changed | undefined {
  const lists = placesOf(value).flatMap((place) =>
    Array.isArray(place.value) && place.value.length > 0 ? [place.value as unknown[]] : [],
  )
  const list = pickFrom(lists, random)
  if (list === undefined) return undefined
  list.push(structuredClone(pickFrom(list, random)))
  return { value, token: '' }
}

function replaceArguments(value: unknown, random: Random): Changed | undefined {
  const text = pickFrom(hostileArguments, random) ?? '{}'
  const written = placesOf(value).filter(
    ({ key, value: member }) =>
      (key === 'arguments' || key === 'partial_json' || key === 'delta') &&
      typeof member === 'string',
  )
  const parsed = placesOf(value).filter(({ key }) => key === 'args' || key === 'input')
  const place = pickFrom([...written, ...parsed], random)
  const isText = place !== undefined && written.includes(place)
  return replaceAt(value, place, isText ? JSON.stringify(text) : text)
}

function amongEvents(
  text: string,
  random: Random,
  how: 'repeat' | 'drop' | 'swap' | 'done',
): string {
  const events = text.split('\n\n')
  const at = Math.floor(random() * events.length)
  const other = Math.floor(random() * events.length)
  const event = events[at] ?? ''
  if (how === 'repeat') events.splice(other, 0, event)
  else if (how === 'drop') events.splice(at, 1)
  else if (how === 'done') events.splice(at, 0, 'data: [DONE]')
  else {
    events[at] = events[other] ?? ''
    events[other] = event
  }
  return events.join('\n\n')
}
