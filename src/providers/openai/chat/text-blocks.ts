import type { MessageDraft } from '../message-draft.ts'
import { begin } from '../message-events.ts'
import type { ModelEvent } from '../../../types/events.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonValue } from '../../../types/json.ts'
import type { ReasoningPart } from '../../../types/message.ts'

type Completed = Extract<ModelEvent, { type: 'reasoning_completed' }>

/** The text and the reasoning of a chat answer. One block is open at a time. */
export interface TextBlocks {
  text(delta: string, out: ModelEvent[]): void
  reasoning(delta: string, out: ModelEvent[]): void
  /** What is to be echoed with the reasoning. */
  opaque: JsonValue | undefined
  /** Ends reasoning that is under way: something else has begun. */
  endReasoning(out: ModelEvent[]): void
  /** Ends whatever is open. */
  end(out: ModelEvent[]): void
}

/** Chat Completions does not number its blocks: a new one begins when text turns to reasoning, or back. */
export function textBlocks(draft: MessageDraft): TextBlocks {
  let open: 'text' | 'reasoning' | undefined
  let grown = ''
  let slot = 0

  const turnTo = (kind: 'text' | 'reasoning', out: ModelEvent[]): void => {
    begin(draft, out)
    end(out)
    open = kind
    grown = ''
    slot = draft.parts.push({ type: kind, text: '' }) - 1
  }

  const end = (out: ModelEvent[]): void => {
    if (open === 'text') {
      draft.parts[slot] = { type: 'text', text: grown }
      out.push({ type: 'text_completed', text: grown })
    } else if (open === 'reasoning') {
      const { opaque } = blocks
      const { provider } = draft.notes
      draft.parts[slot] = defined<ReasoningPart>({
        type: 'reasoning',
        text: grown,
        opaque,
        provider,
      })
      out.push(defined<Completed>({ type: 'reasoning_completed', text: grown, opaque }))
      blocks.opaque = undefined
    }
    open = undefined
  }

  const blocks: TextBlocks = {
    opaque: undefined,
    text(delta, out) {
      if (open !== 'text') turnTo('text', out)
      grown += delta
      out.push({ type: 'text_delta', delta })
    },
    reasoning(delta, out) {
      if (open !== 'reasoning') turnTo('reasoning', out)
      if (delta === '') return
      grown += delta
      out.push({ type: 'reasoning_delta', delta })
    },
    endReasoning(out) {
      if (open === 'reasoning') end(out)
    },
    end,
  }
  return blocks
}
