import type { ScriptedToolCall, ScriptedToolCallDelta } from '../testing/script.ts'
import { defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { PlanDraft } from './plan-draft.ts'
import type { PlanBlock } from './plan.ts'

/** Text goes on in the same block until something else comes. */
export function addText(draft: PlanDraft, text: string): void {
  draft.openText ??= open(draft, { type: 'text', text: '' })
  append(draft, draft.openText, text)
}

/** Reasoning is a block of its own each time. */
export function addReasoning(draft: PlanDraft, text: string, opaque: JsonValue | undefined): void {
  closeText(draft)
  const block = defined<PlanBlock & { type: 'reasoning' }>({ type: 'reasoning', text: '', opaque })
  const index = open(draft, block)
  if (text !== '') append(draft, index, text)
  draft.steps.push({ type: 'close', block: index })
}

/** A whole call, or the completion of one that came in pieces: only what was not sent yet is. */
export function addToolCall(draft: PlanDraft, call: ScriptedToolCall): void {
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
export function addToolCallDelta(draft: PlanDraft, delta: ScriptedToolCallDelta): void {
  append(draft, toolBlock(draft, delta.id, delta), delta.argumentsDelta)
}

/** An image that the model made. */
export function addImage(draft: PlanDraft, image: Image): void {
  closeText(draft)
  const index = open(draft, { type: 'image', text: '', image })
  draft.steps.push({ type: 'close', block: index })
}

/** The text block that is being written is complete; the next text starts another. */
export function closeText(draft: PlanDraft): void {
  if (draft.openText !== undefined) draft.steps.push({ type: 'close', block: draft.openText })
  draft.openText = undefined
}

/** Completes everything that is still open. A call that never got a name goes by its id. */
export function closeAll(draft: PlanDraft): void {
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
