import { assistantMessage } from '../../make/assistant-message.ts'
import { closeBlock } from './close-block.ts'
import type { DecoderState, Out } from './decoder-state.ts'
import { parseFinishReason } from './parse-finish-reason.ts'
import { mergeCounts, parseUsage } from './parse-usage.ts'
import { someText, type WireEvent, type WireMessage } from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { FinishReason } from '../../types/response.ts'

type Started = Extract<ModelEvent, { type: 'message_started' }>
type Completed = Extract<ModelEvent, { type: 'message_completed' }>

/** The message begins. A second beginning, which some proxies send, is passed over. */
export function startMessage(state: DecoderState, message: WireMessage, out: Out): void {
  if (state.started) return
  state.started = true
  state.counts = mergeCounts(state.counts, message.usage)
  takeFacts(state, message)
  const { requestId, provider } = state.call
  const { id, model, usage } = message
  out.push(
    defined<Started>({
      type: 'message_started',
      requestId,
      provider,
      id: someText(id),
      model: someText(model),
      usage: usage === undefined || usage === null ? undefined : parseUsage(state.counts),
    }),
  )
  for (const chunk of state.early) out.push({ type: 'raw_chunk', chunk })
  state.early = []
}

/** The message is about to end: why, and what it consumed. */
export function growMessage(state: DecoderState, { delta, usage, ...rest }: WireEvent): void {
  state.counts = mergeCounts(state.counts, usage)
  takeFacts(state, rest)
  if (delta === undefined || delta === null) return
  state.stopReason = someText(delta.stop_reason) ?? state.stopReason
  takeFacts(state, delta)
}

/** The message is over. Blocks that were never ended, as those of an answer that was cut, end here. */
export function completeMessage(state: DecoderState, out: Out): void {
  for (const block of state.blocks) if (!block.closed) closeBlock(state, block, out)
  const parts = state.blocks.flatMap(({ part }) => part ?? [])
  const calls = state.blocks.flatMap(({ call }) => call ?? [])
  const { stopReason, counts } = state
  const metadata = responseMetadata(state)
  state.done = true
  out.push(
    defined<Completed>({
      type: 'message_completed',
      message: assistantMessage(parts, calls),
      finishReason: finishReason(state, calls.length),
      rawFinishReason: stopReason,
      usage: Object.keys(counts).length === 0 ? undefined : parseUsage(counts),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  )
}

/** A call of the answer's tool is no call to run; calls that are there are to be run, whatever the server says. */
function finishReason({ stopReason, metadata }: DecoderState, calls: number): FinishReason {
  const reason = parseFinishReason(stopReason)
  if (reason === 'tool_calls' && calls === 0 && metadata['structuredOutput'] === 'tool')
    return 'stop'
  return reason === 'stop' && calls > 0 ? 'tool_calls' : reason
}

/** The members of a message that stand beside the common fields, and our names for them. */
const factNames: readonly (readonly [wire: string, name: string])[] = [
  ['stop_sequence', 'stopSequence'],
  ['stop_details', 'stopDetails'],
  ['container', 'container'],
  ['context_management', 'contextManagement'],
  ['diagnostics', 'diagnostics'],
  ['input_transformations', 'inputTransformations'],
]

function takeFacts({ metadata }: DecoderState, from: Readonly<Record<string, unknown>>): void {
  for (const [wire, name] of factNames) {
    const value = from[wire]
    // The members were made by JSON.parse.
    if (value !== undefined && value !== null) metadata[name] = value as JsonValue
  }
}

function responseMetadata({ call, metadata, citations, serverTools }: DecoderState): JsonObject {
  const { adjusted, providerRequestId } = call
  return defined<JsonObject>({
    ...metadata,
    citations: citations.length === 0 ? undefined : citations,
    serverTools: serverTools.length === 0 ? undefined : serverTools,
    adjusted: adjusted.length === 0 ? undefined : adjusted,
    providerRequestId,
  })
}
