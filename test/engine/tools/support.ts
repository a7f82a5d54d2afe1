import type { Tool, ToolHandler } from '../../../src/core/contracts/tool.ts'
import type { StreamEvent } from '../../../src/core/types/events.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { messageText, type Message, type ToolCall } from '../../../src/core/types/message.ts'
import { tool } from '../../../src/engine/tools/tool.ts'

/** A call as a model would make it. */
export function call(id: string, name: string, args: JsonObject = {}): ToolCall {
  return { id, name, arguments: args, rawArguments: JSON.stringify(args) }
}

/** A tool that accepts any arguments. */
export function simple(name: string, handler: ToolHandler, more: Partial<Tool> = {}): Tool {
  return tool({ name, description: `Does ${name}.`, schema: {}, handler, ...more })
}

/** Events as `type id`, to compare their order. */
export function brief(events: readonly StreamEvent[]): readonly string[] {
  return events.map((event) => {
    if ('id' in event) return `${event.type} ${event.id}`
    return 'toolCallId' in event ? `${event.type} ${event.toolCallId}` : event.type
  })
}

/** A promise that the test settles by hand. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** The error message that the model gets. */
export function sentence(content: unknown): unknown {
  return typeof content === 'string' ? JSON.parse(content).error : undefined
}

/** The text of a message. */
export function textOf(message: Message | undefined): string {
  return message === undefined ? '' : messageText(message)
}
