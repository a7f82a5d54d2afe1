import type { Message } from '../types/message.ts'

/** The first `length` messages of a list that may have grown since. */
export interface HeldMessages {
  readonly list: readonly Message[]
  readonly length: number
}

/**
 * Keeps the messages of one call after the other. A call that goes on where the last one was shares its list, so a loop of many
 * steps holds its history once and not once a step.
 */
export function messageChain(): (messages: readonly Message[]) => HeldMessages {
  let chain: Message[] = []
  return (messages) => {
    if (!agree(chain, messages)) chain = []
    for (let index = chain.length; index < messages.length; index++) {
      const message = messages[index]
      if (message !== undefined) chain.push(message)
    }
    return { list: chain, length: messages.length }
  }
}

/** Whether two lists are the same as far as both go. */
function agree(left: readonly Message[], right: readonly Message[]): boolean {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) if (left[index] !== right[index]) return false
  return true
}
