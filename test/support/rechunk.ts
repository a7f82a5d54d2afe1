import type { ChatAdapter, ModelEvent } from '../../src/index.ts'

/** The same adapter with its events split into batches of other sizes. */
export function rechunked(adapter: ChatAdapter, sizes: readonly number[]): ChatAdapter {
  return {
    provider: adapter.provider,
    async *stream(request, options) {
      let pending: ModelEvent[] = []
      let turn = 0
      for await (const batch of adapter.stream(request, options)) {
        for (const event of batch) {
          pending.push(event)
          if (pending.length < (sizes[turn % sizes.length] ?? 1)) continue
          turn++
          yield pending
          pending = []
        }
      }
      if (pending.length > 0) yield pending
    },
  }
}
