import type { JsonObject } from './json.ts'
import type { Message } from './message.ts'

/** A conversation: messages in order, and what the caller wants to keep beside them. */
export interface Thread {
  readonly messages: readonly Message[]
  readonly metadata: JsonObject
}

/** A thread of the given messages. */
export function thread(messages: readonly Message[] = [], metadata: JsonObject = {}): Thread {
  return { messages, metadata }
}

/** The thread with messages added at its end. The given thread is not changed. */
export function appendMessages(to: Thread, ...messages: readonly Message[]): Thread {
  // Unlike a spread, `concat` copies a long history once.
  return { ...to, messages: to.messages.concat(messages) }
}
