/** The ids of a conversation's tool calls, as they go to the wire. */
export interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also where two answers used the same. */
  call(id: string): string
  /** The id that a result refers to: that of the last call with this id. */
  result(id: string): string
}

/**
 * Makes the ids of one conversation.
 *
 * The API takes letters, digits, `_` and `-`, and each id once. Other providers count from 0 in every answer, or write dots
 * and colons; their calls are renamed, and the results with them.
 */
export function toolIds(): ToolIds {
  const used = new Set<string>()
  const latest = new Map<string, string>()
  return {
    call(id) {
      const base = wireName(id, 'call')
      let unique = base
      for (let count = 2; used.has(unique); count++) unique = `${base}_${count}`
      used.add(unique)
      latest.set(id, unique)
      return unique
    },
    result: (id) => latest.get(id) ?? wireName(id, 'call'),
  }
}

/** A name in the letters that the API takes; `fallback` when nothing is there. */
export function wireName(name: string, fallback: string): string {
  if (/^[\w-]+$/.test(name)) return name
  return name === '' ? fallback : name.replaceAll(/[^\w-]/g, '_')
}
