import type { NewId } from '../../core/ids.ts'
import { newAnswer } from './answer.ts'
import { callIds } from './call-ids.ts'
import { callReader } from './calls.ts'
import type { Decoding } from './decode-chunk.ts'
import type { CallFacts } from './wire-error.ts'
import type { Message } from '../../types/message.ts'

/** What a decoder has to know of the call. */
export interface DecoderOptions extends CallFacts {
  /** The messages that were sent. */
  readonly history: readonly Message[]
  readonly includeRawChunks?: boolean | undefined
  readonly newId?: NewId | undefined
}

/** An answer of which nothing has been read. */
export function newDecoding(options: DecoderOptions): Decoding {
  const { history, newId, includeRawChunks = false, ...facts } = options
  const answer = newAnswer(facts.provider)
  const answerId = (): string => decoding.id ?? facts.requestId
  const decoding: Decoding = {
    facts,
    answer,
    calls: callReader(answer, callIds({ history, answerId, newId })),
    includeRawChunks,
    metadata: {},
    id: undefined,
    started: false,
    finish: undefined,
    usage: undefined,
  }
  return decoding
}
