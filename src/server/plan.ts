import { adapterErrorReasons, type AdapterErrorReason } from '../errors/errors.ts'
import type {
  Script,
  ScriptedToolCall,
  ScriptedToolCallDelta,
  ScriptEntry,
} from '../testing/script.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { FinishReason, ModelResponse, Usage } from '../types/response.ts'

/** What a script says, beside its blocks. */
interface ScriptFacts {
  readonly draft: PlanDraft
  usage: Usage | undefined
  id: string | undefined
  model: string | undefined
  end: PlanEnd | undefined
}

/** Resolves a script: what is said, in which pieces, and how it ends. Nothing after its end is looked at. */
export function planScript(script: Script): WirePlan {
  const draft = newPlanDraft()
  const facts: ScriptFacts = {
    draft,
    usage: undefined,
    id: undefined,
    model: undefined,
    end: undefined,
  }
  for (const entry of script) {
    apply(entry, facts)
    if (facts.end !== undefined) break
  }
  const { blocks, steps } = draft
  const calls = blocks.some((block) => block.type === 'tool_call')
  const end = facts.end ?? finished(draft, calls ? 'tool_calls' : 'stop')
  const { usage, id, model } = facts
  return defined<WirePlan>({ blocks, steps, end, usage, id, model })
}

function apply(entry: ScriptEntry, facts: ScriptFacts): void {
  const { draft } = facts
  switch (entry[0]) {
    case 'text':
    case 'text_delta':
      return addText(draft, entry[1])
    case 'reasoning':
      return addReasoning(draft, entry[1], entry[2]?.opaque)
    case 'tool_call':
      return addToolCall(draft, entry[1])
    case 'tool_call_delta':
      return addToolCallDelta(draft, entry[1])
    case 'raw_chunk':
      draft.steps.push({ type: 'raw', chunk: entry[1] })
      return
    case 'delay':
    case 'sleep':
      draft.steps.push({ type: 'wait', ms: entry[1] })
      return
    case 'usage':
      facts.usage = entry[1]
      return
    case 'ok':
      return applyResponse(entry[1], facts)
    case 'finish':
    case 'error':
    case 'preflight_error':
    case 'error_event':
    case 'stream_error':
      facts.end = endOf(entry, draft)
      return
    default:
      return assertNever(entry)
  }
}

/** A whole answer: its parts in their order, then its calls. */
function applyResponse(response: Partial<ModelResponse>, facts: ScriptFacts): void {
  const { draft } = facts
  const content = response.message?.content ?? response.outputText ?? ''
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  for (const part of parts) {
    if (part.type === 'image') addImage(draft, part.image)
    else if (part.type === 'reasoning') addReasoning(draft, part.text, part.opaque)
    else if (part.text !== '') addText(draft, part.text)
    closeText(draft)
  }
  const calls = response.toolCalls ?? response.message?.toolCalls ?? []
  for (const call of calls) addToolCall(draft, call)
  facts.usage = response.usage
  facts.id = response.id
  facts.model = response.model
  const { error } = response
  if (error !== undefined) {
    facts.end =
      error.kind === 'stream'
        ? brokenEnd(error.reason)
        : failedEnd(failureOf(error.reason, { ...error }))
    return
  }
  const reason = response.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  facts.end = finished(draft, reason)
}

type Ending = Extract<
  ScriptEntry,
  readonly ['finish' | 'error' | 'preflight_error' | 'error_event' | 'stream_error', ...unknown[]]
>

function endOf(entry: Ending, draft: PlanDraft): PlanEnd {
  const nothingSaid = draft.steps.every((step) => step.type === 'wait')
  switch (entry[0]) {
    case 'finish':
      return finished(draft, entry[1])
    case 'error':
      if (entry.length === 2) return failedEnd(failureOfTerm(entry[1]))
      return refusedOrFailed(nothingSaid, failureOf(entry[1], entry[2]))
    case 'preflight_error':
      return refusedOrFailed(nothingSaid, failureOf(entry[1], entry[2]))
    case 'error_event':
      return failedEnd(failureOf(entry[1], entry[2]))
    case 'stream_error':
      return brokenEnd(entry[1])
    default:
      return assertNever(entry)
  }
}

function finished(draft: PlanDraft, reason: FinishReason): PlanEnd {
  closeAll(draft)
  return { type: 'finished', reason }
}

function refusedOrFailed(nothingSaid: boolean, failure: PlanFailure): PlanEnd {
  return nothingSaid ? { type: 'refused', failure } : failedEnd(failure)
}

/** A piece of an answer, with all of its content. */
export type PlanBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string; readonly opaque?: JsonValue }
  | {
      readonly type: 'tool_call'
      readonly id: string
      readonly name: string
      /** The arguments as the model wrote them. */
      readonly text: string
      readonly opaque?: JsonValue
    }
  | { readonly type: 'image'; readonly text: ''; readonly image: Image }

/** What happens in a stream, one after the other. `block` is an index into the plan's blocks. */
export type PlanStep =
  | { readonly type: 'open'; readonly block: number }
  | { readonly type: 'delta'; readonly block: number; readonly text: string }
  | { readonly type: 'close'; readonly block: number }
  | { readonly type: 'raw'; readonly chunk: JsonValue }
  | { readonly type: 'wait'; readonly ms: number }

/** A failure that the provider reports. */
export interface PlanFailure {
  readonly reason: AdapterErrorReason
  readonly message?: string
  readonly status?: number
  readonly retryAfterMs?: number
  readonly requestId?: string
}

/** How the answer ends. */
type PlanEnd =
  | { readonly type: 'finished'; readonly reason: FinishReason }
  /** Before anything was said: an HTTP status. */
  | { readonly type: 'refused'; readonly failure: PlanFailure }
  /** After the start: the provider's own error inside the stream. */
  | { readonly type: 'failed'; readonly failure: PlanFailure }
  /** The transport breaks: the connection closes, an event can not be read, or nothing comes any more. */
  | { readonly type: 'broken'; readonly how: 'cut' | 'malformed' | 'stall' }

/** A script, resolved: the same for all formats, streamed or not. */
export interface WirePlan {
  readonly blocks: readonly PlanBlock[]
  readonly steps: readonly PlanStep[]
  readonly usage?: Usage
  readonly end: PlanEnd
  /** What an `ok` entry says about itself. */
  readonly id?: string
  readonly model?: string
}

/** Text goes on in the same block until something else comes. */
function addText(draft: PlanDraft, text: string): void {
  draft.openText ??= open(draft, { type: 'text', text: '' })
  append(draft, draft.openText, text)
}

/** Reasoning is a block of its own each time. */
function addReasoning(draft: PlanDraft, text: string, opaque: JsonValue | undefined): void {
  closeText(draft)
  const block = defined<PlanBlock & { type: 'reasoning' }>({ type: 'reasoning', text: '', opaque })
  const index = open(draft, block)
  if (text !== '') append(draft, index, text)
  draft.steps.push({ type: 'close', block: index })
}

/** A whole call, or the completion of one that came in pieces: only what was not sent yet is. */
function addToolCall(draft: PlanDraft, call: ScriptedToolCall): void {
  const index = toolBlock(draft, call.id, call)
  const sent = draft.blocks[index]?.text ?? ''
  const rest = sent === '' ? '{}' : sent
  const text =
    call.rawArguments ?? (call.arguments === undefined ? rest : JSON.stringify(call.arguments))
  if (text.startsWith(sent) && text !== sent) append(draft, index, text.slice(sent.length))
  draft.steps.push({ type: 'close', block: index })
  draft.openTools.delete(call.id)
}

/** A piece of a call, which stays open. */
function addToolCallDelta(draft: PlanDraft, delta: ScriptedToolCallDelta): void {
  append(draft, toolBlock(draft, delta.id, delta), delta.argumentsDelta)
}

/** An image that the model made. */
function addImage(draft: PlanDraft, image: Image): void {
  closeText(draft)
  const index = open(draft, { type: 'image', text: '', image })
  draft.steps.push({ type: 'close', block: index })
}

/** The text block that is being written is complete; the next text starts another. */
function closeText(draft: PlanDraft): void {
  if (draft.openText !== undefined) draft.steps.push({ type: 'close', block: draft.openText })
  draft.openText = undefined
}

/** Completes everything that is still open. A call that never got a name goes by its id. */
function closeAll(draft: PlanDraft): void {
  closeText(draft)
  for (const [id, block] of draft.openTools) {
    nameTool(draft, block, { name: id })
    draft.steps.push({ type: 'close', block })
  }
  draft.openTools.clear()
}

function open(draft: PlanDraft, block: PlanBlock): number {
  const index = draft.blocks.push(block) - 1
  draft.steps.push({ type: 'open', block: index })
  return index
}

function append(draft: PlanDraft, index: number, text: string): void {
  const block = draft.blocks[index]
  if (block === undefined || block.type === 'image') return
  draft.blocks[index] = { ...block, text: block.text + text }
  draft.steps.push({ type: 'delta', block: index, text })
}

function toolBlock(draft: PlanDraft, id: string, facts: Partial<ScriptedToolCall>): number {
  let index = draft.openTools.get(id)
  if (index === undefined) {
    closeText(draft)
    index = open(draft, { type: 'tool_call', id, name: '', text: '' })
    draft.openTools.set(id, index)
  }
  nameTool(draft, index, facts)
  return index
}

/** The first name holds. */
function nameTool(draft: PlanDraft, index: number, facts: Partial<ScriptedToolCall>): void {
  const block = draft.blocks[index]
  if (block?.type !== 'tool_call') return
  const name = block.name === '' ? (facts.name ?? '') : block.name
  const opaque = facts.opaque ?? block.opaque
  draft.blocks[index] = defined<typeof block>({ ...block, name, opaque })
}

/** A plan that is being made: what was said so far, and what is still open. */
interface PlanDraft {
  readonly blocks: PlanBlock[]
  readonly steps: PlanStep[]
  /** The calls that are not complete, in the order in which they were first seen. */
  readonly openTools: Map<string, number>
  openText: number | undefined
}

/** A draft that has said nothing. */
function newPlanDraft(): PlanDraft {
  return { blocks: [], steps: [], openTools: new Map(), openText: undefined }
}

/** The facts of a failure, wherever they stand. */
type FailureFacts = Partial<
  Record<'message' | 'status' | 'retryAfterMs' | 'requestId', JsonValue | undefined>
>

/** The failure of a reason and its facts. A reason that no adapter error has is `unknown`. */
export function failureOf(reason: string, facts: FailureFacts): PlanFailure {
  const { message, status, retryAfterMs, requestId } = facts
  return defined<PlanFailure>({
    reason: adapterErrorReasons.find((known) => known === reason) ?? 'unknown',
    message: typeof message === 'string' ? message : undefined,
    status: typeof status === 'number' ? status : undefined,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}

/** The failure of a script's `error` term: a legal reason, or `unknown`. */
function failureOfTerm(term: JsonValue): PlanFailure {
  const reason = adapterErrorReasons.find((known) => known === term)
  return { reason: reason ?? 'unknown' }
}

/** Failures of the transport are shown as what they are; no provider reports them. */
const breaks: Partial<Record<AdapterErrorReason, 'cut' | 'malformed' | 'stall'>> = {
  timeout: 'stall',
  network_error: 'cut',
  malformed_response: 'malformed',
}

/** The end of an answer that fails after its start. */
function failedEnd(failure: PlanFailure): PlanEnd {
  const how = breaks[failure.reason]
  return how === undefined ? { type: 'failed', failure } : { type: 'broken', how }
}

/** The end of an answer whose transport breaks, by the reason of a stream error. */
function brokenEnd(reason: string): PlanEnd {
  if (reason === 'malformed_event') return { type: 'broken', how: 'malformed' }
  return { type: 'broken', how: reason === 'timeout' ? 'stall' : 'cut' }
}
