import { closeBlock } from './close-block.ts'
import { callId, callName, type DecoderState, type OpenBlock, type Out } from './decoder-state.ts'
import { textOf, type WireBlock, type WireDelta, type WireEvent } from './wire.ts'
import type { JsonValue } from '../../types/json.ts'

/** A block begins. What its head already holds is said at once. */
export function startBlock(state: DecoderState, event: WireEvent, out: Out): void {
  const head = event.content_block ?? {}
  const known = findBlock(state, event.index)
  if (known !== undefined) closeBlock(state, known, out)
  const block = addBlock(state, head, event.index)
  if (block.kind === 'tool') {
    state.calls++
    out.push({ type: 'tool_call_started', id: callId(state, block), name: callName(block) })
  }
  if (block.kind === 'text') growText(block, textOf(head.text), out)
  growThinking(block, textOf(head.thinking), out)
  block.signature += textOf(head.signature)
  for (const citation of head.citations ?? []) addCitation(state, block, citation)
}

/** A block grows. One that has not begun, as some servers leave out the beginning, begins here. */
export function growBlock(state: DecoderState, event: WireEvent, out: Out): void {
  const { delta } = event
  if (delta === undefined || delta === null) return
  const block = findBlock(state, event.index) ?? addBlock(state, impliedHead(delta), event.index)
  switch (delta.type ?? '') {
    case 'text_delta':
      growText(block, textOf(delta.text), out)
      return
    case 'input_json_delta':
      growInput(state, block, textOf(delta.partial_json), out)
      return
    case 'thinking_delta':
      growThinking(block, textOf(delta.thinking), out)
      return
    case 'signature_delta':
      block.signature += textOf(delta.signature)
      return
    case 'citations_delta':
      addCitation(state, block, delta.citation)
      return
    default:
      if (block.kind === 'server') growFields(block, delta)
  }
}

/** A block ends. */
export function stopBlock(state: DecoderState, event: WireEvent, out: Out): void {
  const block = findBlock(state, event.index)
  if (block !== undefined) closeBlock(state, block, out)
}

/** The open block with an index; a server that does not number its blocks means the last one. */
function findBlock(state: DecoderState, index: number | undefined): OpenBlock | undefined {
  const { current } = state
  const numbered = typeof index === 'number'
  const isMeant = (block: OpenBlock): boolean =>
    !block.closed && (!numbered || index === block.index)
  if (current !== undefined && isMeant(current)) return current
  const found = state.blocks.findLast(isMeant)
  if (found !== undefined) state.current = found
  return found
}

function addBlock(state: DecoderState, head: WireBlock, index: number | undefined): OpenBlock {
  const block: OpenBlock = {
    kind: kindOf(head, state.call.answerTool?.name),
    index: typeof index === 'number' ? index : state.blocks.length,
    head,
    callsBefore: state.calls,
    text: '',
    signature: '',
    fields: {},
    closed: false,
  }
  state.blocks.push(block)
  state.current = block
  return block
}

function kindOf({ type = '', name }: WireBlock, answerTool: string | undefined): OpenBlock['kind'] {
  switch (type) {
    case 'text':
    case 'thinking':
      return type
    case 'redacted_thinking':
      return 'redacted'
    case 'tool_use':
      return name !== undefined && name === answerTool ? 'answer' : 'tool'
    default:
      return 'server'
  }
}

function impliedHead({ type }: WireDelta): WireBlock {
  return type === 'thinking_delta' ? { type: 'thinking' } : { type: 'text' }
}

function addCitation(
  { citations }: DecoderState,
  { index }: OpenBlock,
  citation: JsonValue | undefined,
): void {
  if (citation !== undefined && citation !== null) citations.push({ index, citation })
}

function growText(block: OpenBlock, delta: string, out: Out): void {
  if (delta === '') return
  block.text += delta
  out.push({ type: 'text_delta', delta, index: block.index })
}

function growThinking(block: OpenBlock, delta: string, out: Out): void {
  if (delta === '') return
  block.text += delta
  out.push({ type: 'reasoning_delta', delta, index: block.index })
}

function growInput(state: DecoderState, block: OpenBlock, delta: string, out: Out): void {
  if (delta === '') return
  block.text += delta
  if (block.kind === 'tool') {
    out.push({ type: 'tool_call_delta', id: callId(state, block), argumentsDelta: delta })
  } else if (block.kind === 'answer' && state.call.answerTool?.wrapped === false) {
    out.push({ type: 'text_delta', delta, index: block.index })
  }
}

/** Kinds of blocks that are not known here are kept as they come: texts grow, anything else takes its place. */
function growFields({ fields, head }: OpenBlock, delta: WireDelta): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type') continue
    const known = fields[name] ?? head[name]
    const grows = typeof value === 'string' && typeof known === 'string'
    // A delta was made by JSON.parse.
    fields[name] = grows ? known + value : (value as JsonValue)
  }
}
