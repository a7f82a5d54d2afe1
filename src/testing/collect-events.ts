/**
 * Reads a stream to its end and gives its events in a list.
 *
 * Takes a run's stream of single events as well as an adapter's stream of batches. What the stream throws, this rejects with.
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
