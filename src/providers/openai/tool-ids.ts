/** The ids of a conversation's tool calls, as they go to the wire. */
export interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also where two answers used the same. */
  call(id: string): string
  /** The id that a result refers to: that of the last call with this id. */
  result(id: string | undefined): string
}

/** The longest id that OpenAI takes everywhere. */
const longest = 40

/**
 * Makes the ids of one conversation.
 *
 * OpenAI's own pass as they are. Other providers write longer ones, or count from 0 in every answer; their calls are renamed, the
 * results with them, and always alike, so that what a cache knows of a conversation stays true.
 */
export function toolIds(): ToolIds {
  const used = new Set<string>()
  const latest = new Map<string, string>()
  return {
    call(id) {
      const base = shortened(id)
      let unique = base
      for (let count = 2; used.has(unique); count++) unique = `${base.slice(0, 32)}_${count}`
      used.add(unique)
      latest.set(id, unique)
      return unique
    },
    result: (id = '') => latest.get(id) ?? shortened(id),
  }
}

function shortened(id: string): string {
  return id === '' ? 'call' : id.slice(0, longest)
}
