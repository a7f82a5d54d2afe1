import type { BodySplitter } from './sse.ts'
import type { SseDecoder } from './sse-decoder.ts'

/** Bytes in, events out: a body under way. */
export interface BodyDecoder<Out> {
  /** Events of the provider so far, ours or not. */
  readonly seen: number
  /** The body is one document, and no stream of events. */
  readonly isDocument: boolean
  /**
   * Decodes one chunk into `out`; `undefined` is the end of the body.
   *
   * What stopped it comes back instead of being thrown, so that what was decoded before can be handed out first.
   */
  take(chunk: Uint8Array | undefined, out: Out[]): { readonly problem: unknown } | undefined
}

/** Ties a splitter and a decoder together. */
export function bodyDecoder<Out>(
  decoder: SseDecoder<Out>,
  splitter: BodySplitter,
): BodyDecoder<Out> {
  const text = new TextDecoder()
  let seen = 0
  let target: Out[] = []
  const onEvent = (data: string, event: string | undefined): void => {
    seen++
    if (!decoder.done) decoder.push(data, event, target)
  }
  const decode = (chunk: Uint8Array | undefined): void => {
    if (chunk !== undefined) {
      splitter.feed(text.decode(chunk, { stream: true }), onEvent)
      return
    }
    splitter.feed(text.decode(), onEvent)
    splitter.end(onEvent)
    if (!decoder.done) decoder.end(target)
  }
  return {
    get seen() {
      return seen
    },
    get isDocument() {
      return splitter.isDocument === true
    },
    take(chunk, out) {
      target = out
      try {
        decode(chunk)
        return undefined
      } catch (problem) {
        return { problem }
      }
    },
  }
}
