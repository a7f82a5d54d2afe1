import type { ModelEvent } from '../../src/core/types/events.ts'
import { openAnswer, type OpenAnswer } from '../../src/providers/http/answer.ts'
import { secretsOf } from '../../src/providers/http/secrets.ts'
import type { BodySplitter } from '../../src/providers/http/sse.ts'
import { bodyDecoder, type MakeDecoder } from '../../src/providers/http/stream-http.ts'

/** The answer to a call that nobody sent. */
export function bareAnswer(provider: string): OpenAnswer {
  return openAnswer(
    { provider, requestId: 'run', newId: (kind) => kind },
    { signal: new AbortController().signal, headers: new Headers(), clean: (text) => text },
  )
}

/** What came of a body. */
export interface Decoded {
  readonly events: readonly ModelEvent[]
  readonly done: boolean
  /** What stopped the decoder. */
  readonly stopped?: { readonly problem: unknown }
}

/** The events of a body that arrives in these pieces, without a server in between. */
export function decodeBytes(
  provider: string,
  makeDecoder: MakeDecoder,
  splitter: BodySplitter,
  pieces: readonly Uint8Array[],
): Decoded {
  const answer = bareAnswer(provider)
  const secrets = secretsOf({ provider, url: '', headers: {} })
  const body = bodyDecoder(makeDecoder(answer.sink), splitter, { answer, secrets })
  const events: ModelEvent[] = []
  for (const piece of [...pieces, undefined]) {
    const stopped = body.take(piece)
    events.push(...answer.take())
    if (stopped !== undefined) return { events, done: answer.done, stopped }
  }
  return { events, done: answer.done }
}
