import type { Script, ScriptEntry } from '../testing/script.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { FinishReason, ModelResponse, Usage } from '../types/response.ts'
import {
  addImage,
  addReasoning,
  addText,
  addToolCall,
  addToolCallDelta,
  closeAll,
  closeText,
} from './plan-builder.ts'
import { newPlanDraft, type PlanDraft } from './plan-draft.ts'
import { brokenEnd, failedEnd, failureOf, failureOfTerm } from './plan-failure.ts'
import type { PlanEnd, PlanFailure, WirePlan } from './plan.ts'

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
