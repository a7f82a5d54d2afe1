import { systemClock } from '../core/clock.ts'
import { watchdog } from '../core/timers.ts'
import type { GuardedCall } from './guarded-call.ts'

/** What reads the body of an answer. */
export type BodyReader = ReadableStreamDefaultReader<Uint8Array>

/** How long a connection may take to end by itself after the provider's end marker. */
const lastReadMs = 1000

/**
 * Reads what follows the end marker, which is next to nothing, so that the connection can be used for the next call.
 *
 * It goes on by itself: whoever reads the events does not wait for it. It is the transport's own time, not the engine's.
 */
export async function letEnd(reader: BodyReader, guard: GuardedCall): Promise<void> {
  const dog = watchdog(systemClock, () => guard.close())
  dog.feed(lastReadMs)
  try {
    for (let reads = 0; reads < 64 && !(await reader.read()).done; reads++);
  } catch {
    // It was closed meanwhile; nothing is missing.
  } finally {
    dog.stop()
    await hangUp(reader, guard)
  }
}

/** Closes a connection, whatever is still to come. */
export async function hangUp(reader: BodyReader | undefined, guard: GuardedCall): Promise<void> {
  guard.close()
  await reader?.cancel().catch(() => undefined)
}
