/** The ids of the tool calls of a conversation, as they are sent. */
export interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also when two answers used the same id. */
  call(id: string): string
  /** The id that a result refers to: that of the last call with this id. */
  result(id: string | undefined): string
}

/**
 * Makes the ids of one conversation.
 *
 * Other providers write ids that this one does not take, or count from 0 in every answer: their calls and results are renamed,
 * always in the same way, so that the cached prefix of a conversation stays valid. `legal` gives the id that an API takes for
 * any id, and does not change the provider's own. No id is longer than `longest`.
 */
export function toolIds(legal: (id: string) => string, longest: number = Infinity): ToolIds {
  const used = new Set<string>()
  const latest = new Map<string, string>()
  const base = (id: string): string => legal(id).slice(0, longest)
  return {
    call(id) {
      let unique = base(id)
      for (let count = 2; used.has(unique); count++) {
        unique = `${base(id).slice(0, longest - 8)}_${count}`
      }
      used.add(unique)
      latest.set(id, unique)
      return unique
    },
    result: (id = '') => latest.get(id) ?? base(id),
  }
}
