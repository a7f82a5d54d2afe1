import type { Loop } from './loop.ts'
import { buildRequest, optionOf } from '../run/context.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest, ToolChoice } from '../types/request.ts'

/** What asks for the structured answer of `structuredFinalize`. Its mark tells a run that was cut where it was. */
export const finalizeMessage: Message = {
  role: 'user',
  content: 'Now give your final answer in the required format.',
  metadata: { structuredFinalize: true },
}

/** Whether the next answer, or the last one, is the second pass of `structuredFinalize`. */
export function isFinalizing(loop: Loop): boolean {
  if (!loop.finalize) return false
  const lastUser = loop.state.thread.messages.findLast((message) => message.role === 'user')
  return lastUser?.metadata?.['structuredFinalize'] === true
}

/** The tools that the calls of an answer are run by: none in the second pass, which offers none. */
export function turnTools(loop: Loop): Loop['tools'] {
  return isFinalizing(loop) ? { ...loop.tools, tools: noTools } : loop.tools
}

const noTools: Loop['tools']['tools'] = new Map()

/** The request of the next turn. */
export function turnRequest(loop: Loop): ModelRequest {
  const draft = { messages: loop.state.thread.messages }
  if (isFinalizing(loop)) {
    return buildRequest(loop.scene, draft, { tools: [], responseFormat: loop.format })
  }
  return buildRequest(loop.scene, draft, {
    tools: loop.specs,
    toolChoice: turnChoice(loop),
    responseFormat: loop.finalize ? undefined : loop.format,
  })
}

/** A forced choice holds until tools have answered: a loop that is forced for ever never ends. */
function turnChoice(loop: Loop): ToolChoice | undefined {
  const choice = optionOf(loop.scene, 'toolChoice')
  if (choice === undefined || choice === 'auto' || choice === 'none') return choice
  return loop.state.thread.messages.at(-1)?.role === 'tool' ? undefined : choice
}
