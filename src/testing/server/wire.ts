import { reasonOf, systemClock, type Clock } from '../../core/base/clock.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import { validateScript } from '../fakes/check-script.ts'
import { toScript, type ScriptInput } from '../fakes/script.ts'
import { planScript, type PlanFailure, type PlanStep, type WirePlan } from './plan.ts'
import { anthropic } from './wire-anthropic.ts'
import { eventStreamType, eventStreamWriter } from './wire-event-stream.ts'
import { renderFailure } from './wire-failure.ts'
import {
  frameWriter,
  jsonArrayWriter,
  wireEpoch,
  type FrameWriter,
  type RenderContext,
  type WireAnswer,
  type WireChunking,
  type WireFormat,
  type WireFrame,
  type WireOptions,
  type WirePlatform,
  type WireRenderer,
  type WireStream,
} from './wire-format.ts'
import { gemini } from './wire-gemini.ts'
import { openaiChat } from './wire-openai-chat.ts'
import { openaiResponses } from './wire-openai-responses.ts'

/**
 * Renders a script as the bytes that a provider would send for it.
 *
 * The same script and options give the same bytes. A script that `validateScript` refuses throws the same
 * `ValidationError`. Data that a format cannot carry is left out; `wireLimits` lists it.
 */
export function renderWire(
  format: WireFormat,
  script: ScriptInput,
  options: WireOptions = {},
): WireAnswer {
  validateScript({ script })
  const plan = planScript(toScript(script))
  const id = plan.id ?? `fake${options.id ?? '1'}`
  const answer = renderPlan(format, plan, {
    id,
    created: wireEpoch,
    stream: options.stream ?? false,
    model: plan.model ?? options.model ?? renderers[format].defaultModel,
    requestId: options.requestId ?? `req_${id}`,
    includeUsage: options.includeUsage ?? true,
    framing: options.framing ?? 'sse',
    platform: options.platform,
  })
  const { chunking } = options
  return chunking === undefined ? answer : { ...answer, frames: rechunk(answer.frames, chunking) }
}

/** The renderer of each format. */
const renderers: Readonly<Record<WireFormat, WireRenderer>> = {
  openai_chat: openaiChat,
  openai_responses: openaiResponses,
  anthropic,
  gemini,
}

/** The settled facts of one answer, and whether it is streamed. */
export interface PlanOptions extends RenderContext {
  readonly stream: boolean
}

/** Renders a plan as a refusal, a body or a stream, depending on its end and on the options. */
export function renderPlan(format: WireFormat, plan: WirePlan, options: PlanOptions): WireAnswer {
  const { end } = plan
  if (end.type === 'refused') return refusal(format, plan, end.failure, options)
  return options.stream ? streamed(format, plan, options) : whole(format, plan, options)
}

const html = '<html><body><h1>502 Bad Gateway</h1></body></html>'

/** An HTTP error. Reasons without a status become a failure of the transport. */
function refusal(
  format: WireFormat,
  plan: WirePlan,
  failure: PlanFailure,
  { requestId, platform }: RenderContext,
): WireAnswer {
  const writer = waitedWriter(plan)
  if (failure.status === undefined) {
    if (failure.reason === 'timeout') return silence('stall')
    if (failure.reason === 'network_error') return silence('cut')
    if (failure.reason === 'malformed_response') {
      writer.text(html)
      return {
        status: 200,
        headers: { 'content-type': 'text/html' },
        frames: writer.frames,
        end: 'normal',
      }
    }
  }
  const id = failure.requestId ?? requestId
  const { status, body, headers } = renderFailure(format, failure, { requestId: id, platform })
  writer.text(JSON.stringify(body))
  return {
    status,
    headers: {
      ...headersOf(format, id, platform),
      'content-type': jsonType(format),
      ...headers,
      ...(failure.location === undefined ? {} : { location: failure.location }),
    },
    frames: writer.frames,
    end: 'normal',
  }
}

function silence(end: 'cut' | 'stall'): WireAnswer {
  return { status: 0, headers: {}, frames: [], end }
}

/** One JSON body. A failure in the middle of a stream becomes an HTTP error response here. */
function whole(format: WireFormat, plan: WirePlan, options: PlanOptions): WireAnswer {
  const { end } = plan
  if (end.type === 'failed') return refusal(format, plan, end.failure, options)
  if (end.type === 'broken' && end.how === 'stall') return silence('stall')
  const writer = waitedWriter(plan)
  const text = JSON.stringify(renderers[format].body(plan, options))
  // Half a body cannot be parsed, whether or not the connection is closed after it.
  writer.text(end.type === 'broken' ? text.slice(0, text.length / 2) : text)
  const headers = {
    ...headersOf(format, options.requestId, options.platform),
    'content-type': jsonType(format),
  }
  const cut = end.type === 'broken' && end.how === 'cut'
  return { status: 200, headers, frames: writer.frames, end: cut ? 'cut' : 'normal' }
}

function streamed(format: WireFormat, plan: WirePlan, options: PlanOptions): WireAnswer {
  const { requestId, platform, framing } = options
  const [contentType, writer] =
    platform === 'bedrock'
      ? [eventStreamType, eventStreamWriter()]
      : framing === 'json_array'
        ? [jsonType(format), jsonArrayWriter()]
        : ['text/event-stream; charset=utf-8', frameWriter()]
  const renderer = renderers[format]
  // A leading wait delays the whole answer, its first event included; after `headers`, all but the status and the headers.
  const first = plan.steps.findIndex(({ type }) => type !== 'wait' && type !== 'headers')
  const lead = first === -1 ? plan.steps.length : first
  for (const step of plan.steps.slice(0, lead)) {
    if (step.type === 'wait') writer.wait(step.ms)
    else writer.text('')
  }
  const stream = renderer.stream(plan, options, writer)
  for (const step of plan.steps.slice(lead)) take(step, stream, writer, renderer.namedEvents)
  const end = endStream(plan, stream, writer)
  return {
    status: 200,
    headers: { ...headersOf(format, requestId, platform), 'content-type': contentType },
    frames: writer.frames,
    end,
  }
}

function take(step: PlanStep, stream: WireStream, writer: FrameWriter, named: boolean): void {
  switch (step.type) {
    case 'open':
      return stream.open(step.block)
    case 'delta':
      return stream.delta(step.block, step.text)
    case 'close':
      return stream.close(step.block)
    case 'raw':
      return rawEvent(step.chunk, writer, named)
    case 'wait':
      return writer.wait(step.ms)
    case 'headers':
      return writer.text('')
    default:
      return assertNever(step)
  }
}

/** An object is sent as it is. Any other value is wrapped in an object. */
function rawEvent(chunk: JsonValue, writer: FrameWriter, named: boolean): void {
  const event =
    typeof chunk === 'object' && chunk !== null && !Array.isArray(chunk)
      ? chunk
      : { type: 'raw_chunk', chunk }
  const type = 'type' in event ? event.type : undefined
  writer.event(event, named ? (typeof type === 'string' ? type : 'raw_chunk') : undefined)
}

function endStream(plan: WirePlan, stream: WireStream, writer: FrameWriter): WireAnswer['end'] {
  const { end } = plan
  switch (end.type) {
    case 'finished':
      stream.finish()
      writer.end()
      return plan.staysOpen === true ? 'stall' : 'normal'
    case 'failed':
      stream.fail(end.failure)
      writer.end()
      return plan.staysOpen === true ? 'stall' : 'normal'
    case 'broken':
      stream.begin()
      if (end.how === 'malformed') writer.text('data: {"malformed": \n\n')
      return end.how === 'malformed' || end.how === 'end' ? 'normal' : end.how
    case 'refused':
      return 'normal'
    default:
      return assertNever(end)
  }
}

/** A writer whose first frame waits for the sum of all waits. */
function waitedWriter(plan: WirePlan): FrameWriter {
  const writer = frameWriter()
  for (const step of plan.steps) if (step.type === 'wait') writer.wait(step.ms)
  return writer
}

/** The headers of every answer. Bedrock has its own name for the id of a request. */
function headersOf(
  format: WireFormat,
  requestId: string,
  platform: WirePlatform | undefined,
): Readonly<Record<string, string>> {
  return platform === 'bedrock'
    ? { 'x-amzn-requestid': requestId }
    : renderers[format].headers(requestId)
}

function jsonType(format: WireFormat): string {
  return format === 'gemini' ? 'application/json; charset=UTF-8' : 'application/json'
}

/** Options of `wireResponse`. */
export interface ReplayOptions {
  /** The clock of all waits. */
  readonly clock?: Clock | undefined
  /** The signal of the call. It ends waits, stalls and the body. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Turns an answer into a `Response` as `fetch` would return it, without a network: one chunk per frame, with waits on the clock.
 *
 * A connection that closes before the status rejects, as `fetch` does. One that closes later fails the body. A stall lasts until
 * the signal is aborted or the body is cancelled.
 */
export async function wireResponse(
  answer: WireAnswer,
  { clock = systemClock, signal }: ReplayOptions = {},
): Promise<Response> {
  const [first, ...rest] = answer.frames
  await clock.sleep(first?.delayMs ?? 0, signal)
  if (answer.status === 0) {
    if (answer.end === 'stall') await untilAborted(signal)
    throw new TypeError('fetch failed', { cause: new Error('the connection was closed') })
  }
  const frames = first === undefined ? [] : [{ bytes: first.bytes }, ...rest]
  return new Response(body(frames, answer.end, clock, signal), {
    status: answer.status,
    headers: { ...answer.headers },
  })
}

function body(
  frames: readonly WireFrame[],
  end: WireAnswer['end'],
  clock: Clock,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = new AbortController()
  const leave = (): void => left.abort(signal === undefined ? undefined : reasonOf(signal))
  signal?.addEventListener('abort', leave, { once: true })
  let next = 0
  return new ReadableStream({
    async pull(controller) {
      const frame = frames[next++]
      if (frame === undefined && end === 'normal') {
        controller.close()
        return
      }
      if (frame === undefined && end === 'stall') await untilAborted(left.signal)
      if (frame === undefined) throw new TypeError('terminated')
      if (frame.delayMs !== undefined) await clock.sleep(frame.delayMs, left.signal)
      left.signal.throwIfAborted()
      controller.enqueue(frame.bytes.slice())
    },
    cancel() {
      signal?.removeEventListener('abort', leave)
      left.abort()
    },
  })
}

/** Waits until the signal is aborted, and rejects with its reason. */
function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted === true) reject(reasonOf(signal))
    signal?.addEventListener('abort', () => reject(reasonOf(signal)), { once: true })
  })
}

/**
 * The same bytes, cut at other places: anywhere, also inside an event or a character. Waits keep their places.
 */
export function rechunk(
  frames: readonly WireFrame[],
  { seed, maxBytes }: WireChunking,
): readonly WireFrame[] {
  const random = seededRandom(seed)
  const longest = Math.max(1, Math.floor(maxBytes))
  const result: WireFrame[] = []
  for (const run of joinFrames(frames)) {
    let from = 0
    while (from < run.bytes.length) {
      const to = from + 1 + Math.floor(random() * longest)
      const bytes = run.bytes.subarray(from, to)
      const first = from === 0 && run.delayMs !== undefined
      result.push(first ? { bytes, delayMs: run.delayMs } : { bytes })
      from = to
    }
  }
  return result
}

/** Joins the frames between two waits to one frame. */
export function joinFrames(frames: readonly WireFrame[]): readonly WireFrame[] {
  const runs: { readonly parts: Uint8Array[]; readonly delayMs: number | undefined }[] = []
  for (const { bytes, delayMs } of frames) {
    const run = runs.at(-1)
    if (run === undefined || delayMs !== undefined) runs.push({ parts: [bytes], delayMs })
    else run.parts.push(bytes)
  }
  return runs.map(({ parts, delayMs }) => {
    const bytes = concat(parts)
    return delayMs === undefined ? { bytes } : { bytes, delayMs }
  })
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    result.set(part, at)
    at += part.length
  }
  return result
}

/** A small seeded random generator: numbers in [0, 1), the same for the same seed on every platform. */
export function seededRandom(seed: number): () => number {
  let state = Math.trunc(seed) | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
