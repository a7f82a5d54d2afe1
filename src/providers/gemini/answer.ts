import { signatureOfPrevious, wholePart } from './opaque.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { InlineImage } from '../../types/media.ts'
import type { Part, ReasoningPart, ToolCall } from '../../types/message.ts'

/** The answer under way: what is finished, and the block that grows. */
export interface Answer {
  readonly provider: string
  readonly parts: Part[]
  readonly calls: ToolCall[]
  open: 'none' | 'text' | 'thought'
  text: string
  /** The part that comes is the first of its chunk, so it may be the rest of one that began in the chunk before. */
  continues: boolean
}

/** An answer without content. */
export function newAnswer(provider: string): Answer {
  return { provider, parts: [], calls: [], open: 'none', text: '', continues: false }
}

/**
 * A piece of text. Pieces that follow each other are one block, which a signature ends.
 *
 * A part with a signature is not joined with another part of the same chunk, so that the signature goes back on the very
 * part that it came with; in a stream it comes with the last piece of its part, which may be empty.
 */
export function addText(
  answer: Answer,
  text: string,
  signature: string | undefined,
  out: ModelEvent[],
): void {
  if (text === '' && signature === undefined) return
  const joins = signature === undefined || answer.continues
  if (answer.open !== 'text' || !joins) closeBlock(answer, out)
  if (text !== '') {
    answer.open = 'text'
    answer.text += text
    out.push({ type: 'text_delta', delta: text })
  }
  if (signature === undefined) return
  if (answer.open === 'none') {
    addReasoning(answer, wholePart({ text, thoughtSignature: signature }), out)
    return
  }
  closeBlock(answer, out)
  addReasoning(answer, signatureOfPrevious(signature), out)
}

/** A piece of a thought. Pieces are joined as those of text, but one with words and a signature is a thought of its own. */
export function addThought(
  answer: Answer,
  text: string,
  signature: string | undefined,
  out: ModelEvent[],
): void {
  if (text === '' && signature === undefined) return
  const joins = signature === undefined || (answer.continues && text === '')
  if (answer.open !== 'thought' || !joins) closeBlock(answer, out)
  if (text !== '') {
    answer.open = 'thought'
    answer.text += text
    out.push({ type: 'reasoning_delta', delta: text })
  }
  if (signature === undefined) return
  const whole = answer.text
  answer.open = 'none'
  answer.text = ''
  addReasoning(answer, signature, out, whole)
}

/** A picture that the model made. */
export function addImage(
  answer: Answer,
  image: InlineImage,
  signature: string | undefined,
  out: ModelEvent[],
): void {
  closeBlock(answer, out)
  answer.parts.push({ type: 'image', image })
  out.push({ type: 'image_completed', image })
  if (signature !== undefined) addReasoning(answer, signatureOfPrevious(signature), out)
}

/** A part that has no form of ours. It is kept whole, to be echoed. */
export function addForeignPart(answer: Answer, part: JsonObject, out: ModelEvent[]): void {
  closeBlock(answer, out)
  addReasoning(answer, wholePart(part), out)
}

/** Ends the block that grows, if one does. */
export function closeBlock(answer: Answer, out: ModelEvent[]): void {
  const { open, text } = answer
  if (open === 'none') return
  answer.open = 'none'
  answer.text = ''
  if (open === 'thought') {
    addReasoning(answer, undefined, out, text)
    return
  }
  answer.parts.push({ type: 'text', text })
  out.push({ type: 'text_completed', text })
}

function addReasoning(
  answer: Answer,
  opaque: JsonValue | undefined,
  out: ModelEvent[],
  text: string = '',
): void {
  const { provider } = answer
  answer.parts.push(defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider }))
  out.push(
    defined<ModelEvent & { type: 'reasoning_completed' }>({
      type: 'reasoning_completed',
      text,
      opaque,
    }),
  )
}
