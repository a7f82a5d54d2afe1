import { eventGate } from '../core/answer/gate.ts'
import { unlessStopped } from '../core/base/abort.ts'
import { randomId } from '../core/base/ids.ts'
import { sha256 } from '../core/base/sha256.ts'
import type { ChatAdapter } from '../core/contracts/adapter.ts'
import { errorToJSON } from '../core/errors/error-json.ts'
import { isAllmError } from '../core/errors/errors.ts'
import {
  anyFunction,
  assertValid,
  describe,
  optionsOf,
  positiveInteger,
  refusal,
  timeoutMs,
  within,
  type Check,
} from '../core/schema/checks.ts'
import { chatAdapter, withMethods } from '../core/schema/options.ts'
import { isModelEvent } from '../core/types/events.ts'
import { isObject, parseJson } from '../core/types/guards.ts'
import type { Message } from '../core/types/message.ts'
import { requestKeys, type ModelRequest } from '../core/types/request.ts'
import { hookFailure } from '../engine/model-call/context.ts'
import {
  around,
  batchesOf,
  factsOf,
  isOver,
  optionsAfterWait,
  tell,
  waitFor,
  type AdapterFacts,
  type ModelBatch,
  type WrappedCall,
} from './around.ts'

/**
 * Where `cache` keeps answers: any text under any key. A `Map` of texts is one, and so is a Redis client.
 *
 * What the store throws or rejects with never fails a call: an entry that cannot be read is missing, and one that cannot be written is
 * not kept.
 */
export interface CacheStore {
  get(key: string): StoredText | Promise<StoredText>
  set(key: string, text: string): unknown
}

/** A text, or nothing. */
type StoredText = string | null | undefined

/** The options of `cache`. */
export interface CacheOptions {
  /** Where answers are kept: `memoryCache()`, or a store of your own. */
  readonly store: CacheStore
  /**
   * The key of a request; `undefined` for one that is neither looked up nor kept. It replaces the key that the library makes, so
   * everything that changes an answer is up to it.
   */
  readonly key?: CacheKey | undefined
  /** How long an answer is used, by the clock of the call that asks. Without it, as long as the store has it. */
  readonly ttlMs?: number | undefined
}

/** Makes the key of a request. `adapter` is what the cached adapter says about itself. */
export type CacheKey = (
  request: ModelRequest,
  adapter: AdapterFacts,
) => string | undefined | Promise<string | undefined>

/**
 * Answers a request that was answered before from a store: the same events, with the `requestId` of the new call.
 *
 * Only whole answers are kept: those that ended with `stop` or `tool_calls`. A failure, an answer that was left or stopped, and one that was cut
 * by `length` or by a content filter are not. The key of a request is a digest of everything that changes an answer: all fields of the request but
 * its metadata, the adapter's provider and model, the headers of the call. The API key is not part of it. Calls that are
 * under way at the same time do not wait for one another.
 */
export function cache(adapter: ChatAdapter, options: CacheOptions): ChatAdapter {
  assertValid('invalid_options', [
    ...within('adapter', chatAdapter(adapter)),
    ...cacheIssues(options),
  ])
  const facts = factsOf(adapter)
  return around(facts, (call) => cachedCall({ adapter, facts, ...options }, call))
}

const cacheIssues: Check = (options) =>
  isObject(options) && options['store'] === undefined
    ? [{ path: 'store', problem: 'is missing: pass memoryCache(), or a store with get and set' }]
    : cacheOptions(options)

const cacheOptions: Check = /* @__PURE__ */ optionsOf({
  store: withMethods('a store', 'get', 'set'),
  key: anyFunction,
  ttlMs: timeoutMs,
} satisfies Readonly<Record<keyof CacheOptions, Check>>)

interface Cache extends CacheOptions {
  readonly adapter: ChatAdapter
  readonly facts: AdapterFacts
}

async function* cachedCall(cache: Cache, call: WrappedCall): AsyncGenerator<ModelBatch, void> {
  const { request, options } = call
  const key = await waitFor(keyOf(cache, call), call)
  const known = key === undefined ? undefined : await storedAnswer(cache, key, call)
  if (known !== undefined) {
    options.onActivity?.()
    tell(call, cache.facts, { name: 'cache', to: 'hit' })
    yield* known
    return
  }
  const batches: ModelBatch[] = []
  let writing: Promise<void> | undefined
  for await (const batch of batchesOf(cache.adapter, request, optionsAfterWait(call))) {
    if (key !== undefined) batches.push(batch)
    // It is written before its last event is delivered, because a consumer may stop reading there.
    if (key !== undefined && isOver(batch)) writing = keepAnswer(cache, key, call, batches)
    yield batch
  }
  if (writing !== undefined) await unlessStopped(writing, options.signal).catch(() => undefined)
}

/** The key of a call. What a key function throws fails the call. */
async function keyOf(
  { key, facts }: Cache,
  { request, options }: WrappedCall,
): Promise<string | undefined> {
  // No key shows a message or a header.
  if (key === undefined) return `allm:${sha256(keyText(facts, request, options))}`
  let made: unknown
  try {
    made = await key(request, facts)
  } catch (thrown) {
    throw hookFailure('key', thrown)
  }
  if (made === undefined || (typeof made === 'string' && made !== '')) return made
  const problem = `must return a non-empty string or undefined, not ${describe(made)}`
  throw refusal('invalid_options', 'key', problem)
}

/** Everything that changes an answer, as text. The order of members counts, because a model sees the order of a schema. */
function keyText(
  { provider, providers, identity, model }: AdapterFacts,
  request: ModelRequest,
  { headers, includeRawChunks = false }: WrappedCall['options'],
): string {
  const sent = requestKeys
    .filter((name) => name !== 'metadata')
    .map((name) => [name, name === 'messages' ? request.messages.map(asSent) : request[name]])
  const adapter = [provider, providers, identity?.(), model]
  return JSON.stringify([entryVersion, adapter, sent, headers, includeRawChunks])
}

/**
 * A message as adapters read it. Who gave an answer, why it ended and its metadata are not sent; only these marks of the library change how a message is written, so the same
 * words with other metadata have the same answer.
 */
function asSent({
  metadata = {},
  finishReason: _reason,
  agent: _agent,
  ...message
}: Message): object {
  const marks = sentMarks.filter((mark) => metadata[mark] === true)
  return marks.length === 0 ? message : { ...message, marks }
}

const sentMarks = ['isError', 'denied', 'interrupted', 'repair', 'structuredFinalize'] as const

/** The version of the form in which answers are kept. One of another version is missing. */
const entryVersion = 1

/** Keeps an answer that may be used again. A store that fails, and an answer that is not JSON, keep nothing. */
async function keepAnswer(
  { store, facts }: Cache,
  key: string,
  call: WrappedCall,
  batches: readonly ModelBatch[],
): Promise<void> {
  const whole = wholeAnswer(batches)
  if (whole === undefined) return
  try {
    const at = call.clock.now()
    await store.set(key, JSON.stringify({ version: entryVersion, at, batches: whole }))
    tell(call, facts, { name: 'cache', to: 'stored' })
  } catch (error) {
    // The answer is there; only the next one like it has to be asked for again.
    tell(call, facts, { name: 'cache', to: 'failed', error: errorToJSON(error) })
  }
}

/**
 * The batches of an answer from its start on, if it is one that may be used again.
 *
 * A fallback that went on with another provider starts a second time; what came before that is not part of the answer.
 */
function wholeAnswer(batches: readonly ModelBatch[]): readonly ModelBatch[] | undefined {
  const end = batches.at(-1)?.at(-1)
  if (end?.type !== 'message_completed' || !reusable.has(end.finishReason)) return undefined
  const at = batches.findLastIndex((batch) => batch.some(({ type }) => type === 'message_started'))
  const first = batches[at]
  if (first === undefined) return undefined
  const start = first.findLastIndex(({ type }) => type === 'message_started')
  return [first.slice(start), ...batches.slice(at + 1)]
}

/** The ends of an answer that is whole. */
const reusable: ReadonlySet<string> = new Set(['stop', 'tool_calls'])

/** The answer that the store has; `undefined` if there is none, or one that cannot be used. */
async function storedAnswer(
  { store, facts, ttlMs = Infinity }: Cache,
  key: string,
  call: WrappedCall,
): Promise<readonly ModelBatch[] | undefined> {
  let text: StoredText
  try {
    text = await waitFor(Promise.resolve(store.get(key)), call)
  } catch (error) {
    const isTimeout = isAllmError(error) && error.reason === 'timeout'
    if (call.options.signal.aborted || isTimeout) throw error
    tell(call, facts, { name: 'cache', to: 'failed', error: errorToJSON(error) })
    return undefined
  }
  const entry = typeof text === 'string' ? parseJson(text) : undefined
  if (!isObject(entry) || entry['version'] !== entryVersion) return undefined
  const { at, batches } = entry
  // A time in the future is that of another clock.
  if (typeof at !== 'number' || Math.abs(call.clock.now() - at) >= ttlMs) return undefined
  return readBatches(batches, call)
}

/** Stored batches as they may be emitted: checked like those of any adapter, with the id of the new run, and with ids of calls that the thread does not have. */
function readBatches(
  stored: unknown,
  { request, options }: WrappedCall,
): readonly ModelBatch[] | undefined {
  if (!Array.isArray(stored) || !stored.every(isBatch)) return undefined
  const whole = wholeAnswer(stored)
  const starts = stored.flat().filter(({ type }) => type === 'message_started')
  if (whole === undefined || starts.length !== 1) return undefined
  const started = stored[0]?.[0]
  if (started?.type !== 'message_started' || typeof started.provider !== 'string') return undefined
  const { requestId, newId = randomId, maxResponseBytes } = options
  const { provider } = started
  const history = request.messages
  const gate = eventGate({ provider, requestId, newId, history, maxResponseBytes })
  const settled = whole.map((batch) =>
    gate.settle(
      batch.map((event) => (event.type === 'message_started' ? { ...event, requestId } : event)),
    ),
  )
  return gate.problem === undefined && settled.every(({ length }) => length > 0)
    ? settled
    : undefined
}

function isBatch(value: unknown): value is ModelBatch {
  return Array.isArray(value) && value.length > 0 && value.every(isModelEvent)
}

/** The options of `memoryCache`. */
export interface MemoryCacheOptions {
  /** How many answers are kept (1000). */
  readonly maxEntries?: number | undefined
  /** How much memory they may take, at two bytes for each character (64 MiB). A larger answer is not kept. */
  readonly maxBytes?: number | undefined
}

/** A store for `cache` in the memory of the process. When it is full, the answer that was not used for the longest time goes first. */
export function memoryCache(options: MemoryCacheOptions = {}): CacheStore {
  assertValid('invalid_options', memoryCacheOptions(options))
  const { maxEntries = 1000, maxBytes = 64 * 1024 * 1024 } = options
  // A `Map` keeps the order in which its members were set.
  const texts = new Map<string, string>()
  let bytes = 0
  const remove = (key: string): string | undefined => {
    const text = texts.get(key)
    texts.delete(key)
    bytes -= text === undefined ? 0 : sizeOf(key, text)
    return text
  }
  const add = (key: string, text: string): void => {
    texts.set(key, text)
    bytes += sizeOf(key, text)
  }
  return {
    get(key) {
      const text = remove(key)
      if (text !== undefined) add(key, text)
      return text
    },
    set(key, text) {
      remove(key)
      if (sizeOf(key, text) > maxBytes) return
      add(key, text)
      for (const oldest of texts.keys()) {
        if (texts.size <= maxEntries && bytes <= maxBytes) break
        remove(oldest)
      }
    },
  }
}

const memoryCacheOptions: Check = /* @__PURE__ */ optionsOf({
  maxEntries: positiveInteger,
  maxBytes: positiveInteger,
} satisfies Readonly<Record<keyof MemoryCacheOptions, Check>>)

function sizeOf(key: string, text: string): number {
  return 2 * (key.length + text.length)
}
