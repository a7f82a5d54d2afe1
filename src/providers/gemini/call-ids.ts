import type { NewId } from '../../core/ids.ts'
import type { Message } from '../../types/message.ts'

/** What the ids of calls are made from. */
export interface CallIdSource {
  /** The messages that the answer follows: their calls' ids are taken. */
  readonly history: readonly Message[]
  /** Names the answer: Gemini's id of it, else ours of the run. */
  readonly answerId: () => string
  readonly newId: NewId | undefined
}

/** The id of a call, and what Gemini sent for it where that is something else. */
export interface CallId {
  readonly id: string
  readonly sentId?: string | null
}

/**
 * Gives every call an id that no other call of the thread has.
 *
 * Gemini's own id is used when it sent one and it is free. Otherwise one is made of the answer's id and the position
 * of the call, so that the same answer always gets the same ids; `newId` makes it where it is given.
 */
export function callIds(source: CallIdSource): (sent: unknown) => CallId {
  const taken = new Set<string>()
  let position = 0
  let looked = false
  return (sent) => {
    if (!looked) {
      looked = true
      for (const { toolCalls = [] } of source.history) for (const { id } of toolCalls) taken.add(id)
    }
    const given = typeof sent === 'string' && sent !== '' ? sent : undefined
    let id = given
    while (id === undefined || taken.has(id)) {
      position++
      // An id that is made twice would never come free.
      id =
        source.newId === undefined || position > 64
          ? madeId(source, position)
          : source.newId('call')
    }
    taken.add(id)
    return id === given ? { id } : { id, sentId: given ?? null }
  }
}

/** Short, and of letters that every provider takes in the id of a call. */
function madeId({ answerId }: CallIdSource, position: number): string {
  const base = answerId()
    .replaceAll(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 32)
  return `call_${base}_${position}`
}
