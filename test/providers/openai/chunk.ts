import type { JsonObject } from '../../../src/core/types/json.ts'

/** A chunk of a chat answer. */
export function chunk(
  delta: JsonObject,
  finish: string | null = null,
  beside: JsonObject = {},
): JsonObject {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return { id: 'c1', model: 'm', object: 'chat.completion.chunk', choices, ...beside }
}

/** A piece of a tool call. */
export const call = (index: number, id: string, name: string, args: string): JsonObject => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
})
