import type { Issue } from '../types/error-data.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'

/** The messages that `instructions` became. They are not the caller's. */
const instructionMessages = /* @__PURE__ */ new WeakSet<Message>()

/** The message that carries the option `instructions`. It comes before the messages of the caller. */
export function instructionsMessage(content: string): Message {
  const message: Message = Object.freeze({ role: 'system', content })
  instructionMessages.add(message)
  return message
}

/** Whether a message is what `instructions` became. The caller does not count it. */
export function isInstructions(message: Message): boolean {
  return instructionMessages.has(message)
}

/** Problems of a request, with the places of messages as the caller counts them: instructions do not count. */
export function asCallerCounts(
  { messages: [first] }: ModelRequest,
  issues: readonly Issue[],
): readonly Issue[] {
  if (first === undefined || !instructionMessages.has(first)) return issues
  return issues.map(({ path, problem }) => ({
    path: path.replace(/^messages\[(\d+)\]/, (_all, at: string) => `messages[${Number(at) - 1}]`),
    problem,
  }))
}
