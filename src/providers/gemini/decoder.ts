import { isAllmError } from '../../errors/errors.ts'
import type { SseDecoder } from '../../http/stream-http.ts'
import { completeMessage } from './complete-message.ts'
import { decodeChunk } from './decode-chunk.ts'
import { newDecoding, type DecoderOptions } from './decoding.ts'
import { malformedAnswer } from './wire-error.ts'
import type { ModelEvent } from '../../types/events.ts'

/** Decodes one answer, streamed or whole. */
export interface AnswerDecoder extends SseDecoder<ModelEvent> {
  /** Decodes an answer that came whole and is parsed already. Without its end it is not truncated but malformed. */
  decodeWhole(value: unknown, out: ModelEvent[]): void
}

/**
 * Makes a decoder for one call.
 *
 * Gemini has no end marker of its own: an answer is complete when the body is over and a chunk has told the finish
 * reason. Until then everything is read, because the counts may come after it.
 */
export function answerDecoder(options: DecoderOptions): AnswerDecoder {
  const decoding = newDecoding(options)
  let done = false
  let heard = false
  const accept = (value: unknown, out: ModelEvent[]): void => {
    heard = true
    decodeChunk(decoding, value, out)
  }
  const end = (out: ModelEvent[]): void => {
    if (heard && !decoding.started) throw malformedAnswer(options)
    if (decoding.finish === undefined) return
    completeMessage(decoding, decoding.finish, out)
    done = true
  }
  return {
    end,
    decodeWhole(value, out) {
      try {
        accept(value, out)
        end(out)
      } catch (error) {
        throw isAllmError(error) ? error : malformedAnswer(options, error)
      }
      if (!done) out.push({ type: 'error', error: malformedAnswer(options).toJSON() })
    },
    push(data, _event, out) {
      // Some proxies end every stream in the manner of OpenAI, or send events without data.
      if (data !== '[DONE]' && data !== '') accept(JSON.parse(data), out)
    },
    get done() {
      return done
    },
    failure: (error) => ({ type: 'error', error }),
  }
}
