import type { SseDecoder } from '../../../http/sse.ts'
import type { DecoderOptions } from '../call-notes.ts'
import { noteExtras, usageInExtras } from './chat-extras.ts'
import { deltaReader } from './delta-reader.ts'
import { chatFinishReason } from './finish-reason.ts'
import {
  messageDraft,
  noteHead,
  noteList,
  reportedError,
  type MessageDraft,
} from '../message-draft.ts'
import { complete, passRaw } from '../message-events.ts'
import { asList, asObject, asText, chunkObject } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import type { JsonObject } from '../../../types/json.ts'

/**
 * Decodes Chat Completions: the chunks of a stream, or a whole answer as if it were one chunk.
 *
 * `[DONE]` ends a stream, and so does the end of a body in which a finish reason was given; a whole answer ends itself.
 * Only the first choice is read.
 */
export function chatDecoder({ notes, newId, rawChunks }: DecoderOptions): SseDecoder<ModelEvent> {
  const draft = messageDraft(notes)
  const reader = deltaReader(draft, newId)
  let finishWord: string | undefined

  const finish = (out: ModelEvent[]): void => {
    reader.end(out)
    draft.usage ??= usageInExtras(draft)
    const finishReason = chatFinishReason(finishWord, draft.calls.length > 0)
    complete(draft, { finishReason, rawFinishReason: finishWord }, out)
  }

  const takeChoice = (choice: JsonObject, chunk: JsonObject, out: ModelEvent[]): void => {
    const streamed = asObject(choice['delta'])
    const whole = isWhole(streamed, choice, draft) ? asObject(choice['message']) : undefined
    const delta = whole ?? streamed
    if (delta !== undefined) reader.take(delta, whole !== undefined, out)
    if (choice['logprobs']) noteList(draft, 'logprobs', asObject(choice['logprobs'])?.['content'])
    if (choice['finish_reason']) {
      if (choice['error']) throw reportedError(draft, choice)
      finishWord = asText(choice['finish_reason']) ?? finishWord
      noteExtras(draft, chunk, choice)
    }
    if (whole !== undefined) finish(out)
  }

  return {
    get done() {
      return draft.done
    },
    push(data, event, out) {
      if (data === '[DONE]') {
        finish(out)
        return
      }
      if (data === '') return
      const chunk = chunkObject(JSON.parse(data))
      if (rawChunks) passRaw(draft, chunk, out)
      if (isError(chunk, event)) throw reportedError(draft, chunk)
      if (draft.id === undefined) noteHead(draft, chunk)
      if (chunk['usage']) draft.usage = asObject(chunk['usage'])
      const choice = firstChoice(chunk['choices'])
      if (choice === undefined) noteExtras(draft, chunk, undefined)
      else takeChoice(choice, chunk, out)
    },
    end(out) {
      if (finishWord !== undefined) finish(out)
    },
    failure: (error) => ({ type: 'error', error }),
  }
}

/** A choice has a delta or a message. Of those servers that always send both, a whole answer is one whose delta is empty. */
function isWhole(
  delta: JsonObject | undefined,
  choice: JsonObject,
  { started }: MessageDraft,
): boolean {
  if (delta === undefined) return true
  if (started || !choice['finish_reason']) return false
  return Object.entries(delta).every(
    ([name, value]) => name === 'role' || !value || (Array.isArray(value) && value.length === 0),
  )
}

/** An error in the place of an answer says so in a member, in its event's name or, as Mistral's, in its own. */
function isError(chunk: JsonObject, event: string | undefined): boolean {
  return Boolean(chunk['error']) || event === 'error' || chunk['object'] === 'error'
}

/** The first choice, if this chunk says anything about it. */
function firstChoice(choices: unknown): JsonObject | undefined {
  for (const item of asList(choices)) {
    const choice = asObject(item)
    if (choice !== undefined && !choice['index']) return choice
  }
  return undefined
}
