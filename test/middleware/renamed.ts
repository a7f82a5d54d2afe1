import type { ModelEvent } from '../../src/core/types/events.ts'
import { errorFromJSON, isAllmError, type ChatAdapter } from '../../src/index.ts'
import { fake, type Fake, type FakeOptions } from '../../src/testing.ts'

/** A fake that goes by another name, as if it were another provider. */
export interface RenamedFake extends ChatAdapter {
  readonly fake: Fake
  /** The keys and headers that it was called with. */
  readonly seen: { readonly apiKey?: string | undefined; readonly headers?: object | undefined }[]
}

export function renamed(
  provider: string,
  options: FakeOptions,
  facts: Partial<ChatAdapter> = {},
): RenamedFake {
  const inner = fake(options)
  const seen: RenamedFake['seen'][number][] = []
  return {
    fake: inner,
    seen,
    ...facts,
    provider,
    async *stream(request, callOptions = {}) {
      const { apiKey, headers } = callOptions
      seen.push({ apiKey, headers })
      try {
        for await (const batch of inner.stream(request, callOptions)) {
          yield JSON.parse(
            JSON.stringify(batch).replaceAll('"provider":"fake"', `"provider":"${provider}"`),
          ) as readonly ModelEvent[]
        }
      } catch (error) {
        throw isAllmError(error) ? errorFromJSON({ ...error.toJSON(), provider }) : error
      }
    },
  }
}

/** A stream that fails before its first event. */
export function failing(failure: Error): ReturnType<ChatAdapter['stream']> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(failure) }) }
}
