import { addForeignPart, addImage, addText, addThought, type Answer } from './answer.ts'
import type { CallReader } from './calls.ts'
import type { WirePart } from './wire-answer.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { JsonObject } from '../../types/json.ts'

/** What the parts of an answer are read into. */
export interface AnswerSink {
  readonly answer: Answer
  readonly calls: CallReader
}

/** Reads one part. What is neither text, thought, call nor picture is kept whole. */
export function decodePart({ answer, calls }: AnswerSink, part: WirePart, out: ModelEvent[]): void {
  const { text, thoughtSignature } = part
  const signature =
    typeof thoughtSignature === 'string' && thoughtSignature !== '' ? thoughtSignature : undefined
  if (typeof text === 'string') {
    if (part.thought === true) addThought(answer, text, signature, out)
    else addText(answer, text, signature, out)
    return
  }
  if (part.functionCall) {
    calls.add(part.functionCall, signature, out)
    return
  }
  const { mimeType, data } = part.inlineData ?? {}
  const picture =
    typeof data === 'string' && typeof mimeType === 'string' && mimeType.startsWith('image/')
  // A picture that was only thought of is no part of the answer.
  if (picture && part.thought !== true) {
    addImage(answer, { type: 'base64', base64: data, mimeType }, signature, out)
  } else {
    // The part was parsed from JSON.
    addForeignPart(answer, part as JsonObject, out)
  }
}
