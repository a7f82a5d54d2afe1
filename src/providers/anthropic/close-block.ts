import { callFields } from './call-fields.ts'
import { callId, callName, type DecoderState, type OpenBlock, type Out } from './decoder-state.ts'
import { parseArguments } from './parse-arguments.ts'
import type { ReasoningOpaque } from './reasoning-opaque.ts'
import { unwrapAnswer } from './structured-output.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ReasoningPart, ToolCall } from '../../types/message.ts'

/** Closes a block: says what it came to, and keeps it for the message. A block that came to nothing is passed over. */
export function closeBlock(state: DecoderState, block: OpenBlock, out: Out): void {
  block.closed = true
  const { text, signature, head } = block
  switch (block.kind) {
    case 'text':
      if (text !== '') completeText(block, text, out)
      return
    case 'thinking':
      if (text !== '' || signature !== '') {
        completeReasoning(state, block, signature === '' ? undefined : { signature }, out)
      }
      return
    case 'redacted':
      completeReasoning(state, block, { redacted: head.data ?? '' }, out)
      return
    case 'tool':
      completeCall(state, block, out)
      return
    case 'answer':
      completeAnswer(state, block, out)
      return
    case 'server':
      completeServerBlock(state, block, out)
      return
    default:
      assertNever(block.kind)
  }
}

function completeText(block: OpenBlock, text: string, out: Out): void {
  block.part = { type: 'text', text }
  out.push({ type: 'text_completed', text, index: block.index })
}

function completeReasoning(
  { call }: DecoderState,
  block: OpenBlock,
  echo: ReasoningOpaque | undefined,
  out: Out,
): void {
  const { index, callsBefore } = block
  const text = block.kind === 'thinking' ? block.text : ''
  const toolCalls = callsBefore === 0 ? undefined : callsBefore
  const opaque = echo === undefined ? undefined : { ...echo, ...defined<object>({ toolCalls }) }
  const { provider } = call
  block.part = defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider })
  out.push({
    type: 'reasoning_completed',
    text,
    index,
    ...(opaque === undefined ? {} : { opaque }),
  })
}

function completeCall(state: DecoderState, block: OpenBlock, out: Out): void {
  const id = callId(state, block)
  const rawArguments = inputText(block)
  if (block.text === '' && rawArguments !== '{}') {
    out.push({ type: 'tool_call_delta', id, argumentsDelta: rawArguments })
  }
  const opaque = callFields(asJson(block))
  const call = defined<ToolCall>({
    id,
    name: callName(block),
    arguments: parseArguments(rawArguments) ?? {},
    rawArguments,
    opaque: Object.keys(opaque).length === 0 ? undefined : opaque,
  })
  block.call = call
  out.push({ type: 'tool_call_completed', call })
}

/** The arguments of the tool that stands for the answer are the answer's text. */
function completeAnswer({ call, metadata }: DecoderState, block: OpenBlock, out: Out): void {
  const raw = inputText(block)
  const wrapped = call.answerTool?.wrapped === true
  const text = wrapped ? unwrapAnswer(raw) : raw
  if (wrapped || block.text === '') {
    out.push({ type: 'text_delta', delta: text, index: block.index })
  }
  metadata['structuredOutput'] = 'tool'
  completeText(block, text, out)
}

/** A block of a tool on the provider's side is kept whole, so that it can be echoed. */
function completeServerBlock(state: DecoderState, block: OpenBlock, out: Out): void {
  const whole = asJson(block)
  state.serverTools.push(whole)
  completeReasoning(state, block, { block: whole }, out)
}

/** The input as JSON text: what the deltas added up to, else what the head held. */
function inputText({ text, head }: OpenBlock): string {
  return text === '' ? JSON.stringify(head.input ?? {}) : text
}

function asJson({ head, fields, text }: OpenBlock): JsonObject {
  const input = text === '' ? {} : { input: parseArguments(text) ?? {} }
  return { ...head, ...fields, ...input }
}
