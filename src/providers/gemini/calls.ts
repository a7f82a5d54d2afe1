import { closeBlock, type Answer } from './answer.ts'
import type { CallId } from './call-ids.ts'
import { isJsonObject } from './json-kind.ts'
import { callOpaque, type CallEcho } from './opaque.ts'
import { addPartialArg, partialArgs, type PartialArgs } from './partial-args.ts'
import type { WireFunctionCall } from './wire-answer.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonValue } from '../../types/json.ts'
import type { ToolCall } from '../../types/message.ts'

/** Reads the calls of one answer. */
export interface CallReader {
  /** A call, or the next piece of one whose arguments are streamed. */
  add(call: WireFunctionCall, signature: string | undefined, out: ModelEvent[]): void
  /** Completes a call that is still open. */
  close(out: ModelEvent[]): void
}

interface OpenCall extends CallId {
  readonly name: string
  readonly args: PartialArgs
  signature: string | undefined
}

/** A reader that adds calls to an answer, with ids from `idOf`. */
export function callReader(answer: Answer, idOf: (sent: unknown) => CallId): CallReader {
  let open: OpenCall | undefined

  const close = (out: ModelEvent[]): void => {
    if (open === undefined) return
    const { name, args, signature, ...id } = open
    open = undefined
    complete(answer, toolCall(name, args.root, id, signature), out)
  }

  const begin = (call: WireFunctionCall, name: string, out: ModelEvent[]): CallId => {
    close(out)
    closeBlock(answer, out)
    const id = idOf(call.id)
    out.push({ type: 'tool_call_started', id: id.id, name })
    return id
  }

  return {
    close,
    add(call, signature, out) {
      const { name, willContinue } = call
      const pieces = call.partialArgs ?? undefined
      if (typeof name === 'string' && name !== '') {
        const id = begin(call, name, out)
        if (pieces === undefined && willContinue !== true) {
          complete(answer, toolCall(name, call.args, id, signature), out)
          return
        }
        open = { ...id, name, args: partialArgs(), signature }
      }
      // What names no call and continues none says nothing.
      if (open === undefined) return
      open.signature ??= signature
      for (const piece of pieces ?? []) addPartialArg(open.args, piece)
      if (willContinue !== true) close(out)
    },
  }
}

function complete(answer: Answer, call: ToolCall, out: ModelEvent[]): void {
  answer.calls.push(call)
  out.push({ type: 'tool_call_completed', call })
}

/** Arguments that are no object are kept as text, so that the call is refused and not run with none. */
function toolCall(
  name: string,
  args: JsonValue | undefined,
  { id, sentId }: CallId,
  thoughtSignature: string | undefined,
): ToolCall {
  const legal = isJsonObject(args) ? args : {}
  const none = args === undefined || args === null
  return defined<ToolCall>({
    id,
    name,
    arguments: legal,
    rawArguments: none || args === legal ? undefined : JSON.stringify(args),
    opaque: callOpaque(defined<CallEcho>({ thoughtSignature, sentId })),
  })
}
