/**
 * Reads a stream to its end and returns its events as a list.
 *
 * The stream may be a run's stream of events or an adapter's stream of batches. If the stream throws, the promise rejects with the
 * same error.
 */
export async function collectEvents<Event extends { readonly type: string }>(
  stream: AsyncIterable<Event | readonly Event[]>,
): Promise<Event[]> {
  const events: Event[] = []
  for await (const item of stream) {
    if (isBatch(item)) for (const event of item) events.push(event)
    else events.push(item)
  }
  return events
}

function isBatch<Event>(item: Event | readonly Event[]): item is readonly Event[] {
  return Array.isArray(item)
}
