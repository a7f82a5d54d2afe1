import { linkedAbort, unlessStopped } from '../core/base/abort.ts'
import type {
  AdapterOptions,
  EmbeddingAdapter,
  EmbeddingLimits,
} from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import { cancelledCall, failedCall, type AllmError } from '../core/errors/errors.ts'
import { anyFunction, positiveInteger, type Check } from '../core/schema/checks.ts'
import { validateEmbeddingRequest, vectorsProblem } from '../core/schema/validate-embeddings.ts'
import { defined } from '../core/types/guards.ts'
import type {
  Embedding,
  EmbeddingRequest,
  EmbeddingResponse,
  EmbeddingTask,
} from '../core/types/models.ts'
import { addUsage, type Usage } from '../core/types/response.ts'
import type { Warning } from '../core/types/warning.ts'
import { hookFailure } from '../engine/model-call/context.ts'
import {
  later,
  malformedAnswer,
  modelCallOptions,
  settleModelCall,
  tracedCall,
  type Attempt,
  type ModelCall,
  type ModelCallKind,
  type ModelCallOptions,
} from './call.ts'

/**
 * Makes a vector of each text. A single text is a list of one.
 *
 * It uses the engine's `embeddingAdapter` and `embeddingModel`. The texts are sent in batches by the limits of the provider, at most
 * `maxConcurrency` at once, each retried by the engine's retry policy; the vectors have the order of the texts.
 *
 * After the first batch that fails for good no other is begun, and nothing is retried. Those under way are paid for, so they may finish; then
 * the call rejects with that failure, and `partial` of the error has all vectors that came. A call that is stopped by its `signal` ends at once.
 */
export async function embed(
  engine: Engine,
  textOrTexts: string | readonly string[],
  options: EmbeddingCallOptions = {},
): Promise<EmbeddingResponse> {
  const settled = settleModelCall(engine, embeddingCalls, options, (fields) => ({
    ...fields,
    ...defined<EmbeddingSettings>({
      dimensions: options.dimensions,
      task: options.task,
    } satisfies Readonly<Record<keyof EmbeddingSettings, unknown>>),
    texts: textList(textOrTexts),
  }))
  const stop = linkedAbort(settled.signal)
  const call: EmbedCall = { ...settled, retrySignal: stop.signal }
  const progress = newProgress(call.request)
  const kind: EmbeddingKind = {
    ...embeddingCalls,
    outcome: (response) => ({
      ...outcomeOf(progress),
      responseId: response.id,
      responseModel: response.model,
      usage: response.usage,
    }),
    failed: () => outcomeOf(progress),
  }
  try {
    return await tracedCall(call, kind, async (attempt) => {
      const { maxConcurrency = defaultMaxConcurrency, onBatch } = options
      const failure = await embedBatches(call, attempt, { progress, stop, maxConcurrency, onBatch })
      if (failure === undefined) return responseOf(call, progress)
      const { vectors, usage } = progress
      const { provider, model } = responseOf(call, progress)
      failure.partial = { embeddings: vectors, usage, provider, ...(model && { model }) }
      throw failure
    })
  } finally {
    stop.unlink()
  }
}

/** Every option of `embed`. */
export interface EmbeddingCallOptions extends ModelCallOptions {
  /** The length of the vectors, for models that can shorten them. */
  readonly dimensions?: number | undefined
  /** What the vectors are for: `search_document` for what is searched, `search_query` for what it is searched by. */
  readonly task?: EmbeddingTask | undefined
  /** Calls to the provider that may be under way at once (4). */
  readonly maxConcurrency?: number | undefined
  /**
   * Called with each batch as it comes, in any order, to store it at once; also with those that come after another has failed. The next batch
   * is sent when the hook is done, so a slow hook slows the call down. It may run for up to `maxConcurrency` batches at once. If it throws, the call fails.
   */
  readonly onBatch?: ((batch: EmbeddingBatch) => void | Promise<void>) | undefined
}

/** The vectors of one call to the provider. */
export interface EmbeddingBatch extends Pick<
  EmbeddingResponse,
  'embeddings' | 'model' | 'provider' | 'usage'
> {
  /** The index of the text that the first vector is of. The others follow it. */
  readonly from: number
}

/** The fields of a request that are options of the call. */
type EmbeddingSettings = Omit<EmbeddingRequest, 'texts' | 'model' | 'providerOptions' | 'metadata'>

/** A call may have thousands of texts, and its answer is in memory as a whole while it is read. */
const defaultMaxConcurrency = 4

type EmbedCall = ModelCall<EmbeddingAdapter, EmbeddingRequest>

type EmbeddingKind = ModelCallKind<'embedding', EmbeddingRequest, EmbeddingResponse>

const embeddingCalls: EmbeddingKind = {
  slot: 'embedding',
  span: 'embed',
  options: modelCallOptions({
    dimensions: later,
    task: later,
    maxConcurrency: positiveInteger,
    onBatch: anyFunction,
  } satisfies Readonly<Record<Exclude<keyof EmbeddingCallOptions, keyof ModelCallOptions>, Check>>),
  request: validateEmbeddingRequest,
  outcome: () => ({}),
}

/** The texts as a list of its own: the caller may change the given one while batches are under way. The validator reports anything else. */
function textList(texts: string | readonly string[]): readonly string[] {
  if (typeof texts === 'string') return [texts]
  return Array.isArray(texts) ? texts.slice() : texts
}

/** What has come of an `embed`. */
interface Progress {
  readonly vectors: (Embedding | null)[]
  /** How many of them are there. */
  embeddings: number
  batches: number
  usage: Usage
  readonly warnings: Map<string, Warning>
  /** The answer to the first texts, whichever came first. */
  first: EmbeddingResponse | undefined
  /** The length of the vectors. */
  dimensions: number | undefined
}

function newProgress({ texts }: EmbeddingRequest): Progress {
  return {
    vectors: Array.from(texts, () => null),
    embeddings: 0,
    batches: 0,
    usage: {},
    warnings: new Map(),
    first: undefined,
    dimensions: undefined,
  }
}

function outcomeOf({ embeddings, batches, usage }: Progress): {
  readonly embeddings: number
  readonly batches: number
  readonly usage: Usage
} {
  return { embeddings, batches, usage }
}

/** Sends all batches. Returns the first failure, if there was one; nothing is under way by then. */
async function embedBatches(
  call: EmbedCall,
  attempt: Attempt,
  options: {
    readonly progress: Progress
    readonly stop: { abort(reason: Error): void }
    readonly maxConcurrency: number
    readonly onBatch: EmbeddingCallOptions['onBatch']
  },
): Promise<AllmError | undefined> {
  const { adapter, request } = call
  const { progress, stop, maxConcurrency, onBatch } = options
  // All workers take their batches from one iterator, so a batch is made when there is room for it.
  const batches = batchesOf(request.texts, adapter.limits)
  const failures: AllmError[] = []
  const work = async (): Promise<void> => {
    try {
      for (const [from, to] of batches) {
        const batch = { ...request, texts: request.texts.slice(from, to) }
        const response = await attempt((given) => sendBatch(adapter, batch, given))
        keep(progress, from, response, call)
        if (onBatch !== undefined) await showBatch(call, onBatch, from, response)
      }
    } catch (error) {
      // The loop has closed the iterator, so no worker gets another batch.
      failures.push(failedCall(error, call))
      // Not the failure itself: the retry loops of the others would take it for theirs.
      stop.abort(cancelledCall(call))
    }
  }
  const workers = Math.min(maxConcurrency, request.texts.length)
  await Promise.all(Array.from({ length: workers }, work))
  return failures[0]
}

/**
 * The batches of texts, each as the index of its first text and that after its last one.
 *
 * A token is at least one byte of UTF-8, so the number of bytes is never too low an estimate of tokens, whatever the language and the
 * tokenizer. It makes batches of a quarter of what an English text would allow: 300 KB are still a large call.
 */
function* batchesOf(
  texts: readonly string[],
  { maxTexts, maxTokens = Infinity }: EmbeddingLimits,
): Generator<readonly [from: number, to: number]> {
  let from = 0
  let size = 0
  for (const [index, text] of texts.entries()) {
    const bytes = maxTokens === Infinity ? 0 : byteLength(text)
    const isFull = index - from >= maxTexts || size + bytes > maxTokens
    if (isFull && index > from) {
      yield [from, index]
      from = index
      size = 0
    }
    size += bytes
  }
  if (from < texts.length) yield [from, texts.length]
}

/** The length of a text in UTF-8. A half of a surrogate pair is sent as three bytes. */
function byteLength(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // Both halves of a pair are four bytes.
    if (unit >= 0xd800 && unit < 0xdc00 && isLowHalf(text.charCodeAt(at + 1))) at++
  }
  return bytes
}

function isLowHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

/** Makes one attempt. Adapters are also written by others, so their response is checked here. */
async function sendBatch(
  adapter: EmbeddingAdapter,
  batch: EmbeddingRequest,
  given: AdapterOptions,
): Promise<EmbeddingResponse> {
  const response = await adapter.embed(batch, given)
  const problem = vectorsProblem(response?.embeddings, batch.texts.length)
  if (problem === undefined) return response
  throw malformedAnswer(adapter, given.requestId, problem)
}

/** Puts the vectors of a batch in their places, and adds up the rest. */
function keep(
  progress: Progress,
  from: number,
  response: EmbeddingResponse,
  { adapter, requestId }: EmbedCall,
): void {
  const { embeddings, usage, warnings } = response
  const length = embeddings[0]?.length
  progress.dimensions ??= length
  if (length !== progress.dimensions) {
    const problem = `vectors of different lengths: ${length} (text ${from}), ${progress.dimensions} in another batch`
    throw malformedAnswer(adapter, requestId, problem)
  }
  for (const [index, vector] of embeddings.entries()) progress.vectors[from + index] = vector
  progress.embeddings += embeddings.length
  progress.batches++
  progress.usage = addUsage(progress.usage, usage)
  for (const warning of warnings) progress.warnings.set(JSON.stringify(warning), warning)
  if (from === 0) progress.first = response
}

/** Shows a batch to the caller's hook, and waits for it unless the call is stopped. */
async function showBatch(
  call: EmbedCall,
  onBatch: (batch: EmbeddingBatch) => void | Promise<void>,
  from: number,
  { embeddings, model = call.request.model, usage }: EmbeddingResponse,
): Promise<void> {
  const { provider, signal } = call
  const batch = { from, embeddings, ...defined<{ model?: string }>({ model }), provider, usage }
  try {
    const shown = Promise.resolve(onBatch(batch))
    await (signal === undefined ? shown : unlessStopped(shown, signal))
  } catch (thrown) {
    throw signal?.aborted === true ? cancelledCall(call) : hookFailure('onBatch', thrown)
  }
}

/** One answer for all batches. With several of them, what a provider says about a single one is left out. */
function responseOf(
  { provider, requestId, request }: EmbedCall,
  { vectors, usage, batches, warnings, first }: Progress,
): EmbeddingResponse {
  const single = batches === 1 ? first : undefined
  return {
    requestId,
    ...defined<{ id?: string; model?: string }>({
      id: single?.id,
      model: first?.model ?? request.model,
    }),
    provider,
    // Every batch has come.
    embeddings: vectors as Embedding[],
    usage: single?.usage ?? usage,
    warnings: [...warnings.values()],
    metadata: single?.metadata ?? request.metadata,
  }
}
