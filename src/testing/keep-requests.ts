import type { Keeping } from './call-log.ts'
import { messageChain, type HeldMessages } from './message-chain.ts'
import type { ModelRequest } from '../types/request.ts'

/** A request, and its messages as they were at the call. */
interface HeldRequest {
  readonly request: ModelRequest
  readonly messages: HeldMessages
}

/** Keeps the requests of one fake: a copy of each, with the messages held apart. */
export function keepRequests(): Keeping<ModelRequest, HeldRequest> {
  const holdMessages = messageChain()
  return {
    hold: (request) => {
      const messages = holdMessages(request.messages)
      return { request: { ...request, messages: messages.list }, messages }
    },
    restore: ({ request, messages }) => ({
      ...request,
      messages: messages.list.slice(0, messages.length),
    }),
  }
}
