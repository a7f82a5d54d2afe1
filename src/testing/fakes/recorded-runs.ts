import { isAllmError } from '../../core/errors/errors.ts'
import { answeredCall } from '../../core/messages/tool-messages.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { Message } from '../../core/types/message.ts'
import type { FinishReason } from '../../core/types/response.ts'
import { defaultRetryPolicy } from '../../engine/model-call/retry-policy.ts'
import type { Cassette, CassetteCall } from './cassette.ts'
import { foldToResponse } from './interpret.ts'

/** A conversation of a cassette: the calls of which each goes on where the one before it ended. */
export interface RecordedRun {
  readonly turns: readonly RecordedTurn[]
}

/** What the user said, and the calls that answered it. */
export interface RecordedTurn {
  /** The messages of the first call; in a later turn, those that the user added. */
  readonly messages: readonly Message[]
  readonly calls: readonly RecordedAnswer[]
}

/** One call of a cassette, with its answer read. */
export interface RecordedAnswer {
  /** The number of the call in the cassette, from 0. */
  readonly index: number
  readonly call: CassetteCall
  /** The answer, as far as it came. */
  readonly message?: Message
  readonly finishReason?: FinishReason
  /** Why the call failed, if it did. */
  readonly failure?: string
  /** It failed before its first event, so an engine may try it again. */
  readonly isRefused: boolean
  /** The results of its tool calls, by their ids, as the next call of the conversation has them. */
  readonly results: ReadonlyMap<string, Message>
}

/** The conversations of a cassette, in the order in which they began. Calls of several may have been recorded at the same time. */
export function recordedRuns({ calls }: Cassette): readonly RecordedRun[] {
  const runs: OpenRun[] = []
  for (const [index, call] of calls.entries()) {
    const { messages } = call.request
    const run = runs.findLast((candidate) => goesOn(candidate, messages))
    const answer = { index, call, ...readAnswer(call), results: new Map<string, Message>() }
    if (run === undefined) {
      runs.push({ turns: [{ messages, calls: [answer] }], last: answer })
      continue
    }
    const added = messages.slice(run.last.call.request.messages.length)
    for (const result of added) {
      const id = answeredCall(result)
      if (id !== undefined) run.last.results.set(id, result)
    }
    const words = added.slice(added.findLastIndex(({ role }) => role !== 'user') + 1)
    if (words.length > 0) run.turns.push({ messages: words, calls: [answer] })
    else run.turns.at(-1)?.calls.push(answer)
    run.last = answer
  }
  return runs
}

type OpenAnswer = RecordedAnswer & { readonly results: Map<string, Message> }

interface OpenRun extends RecordedRun {
  readonly turns: { readonly messages: readonly Message[]; readonly calls: OpenAnswer[] }[]
  last: OpenAnswer
}

/** Whether messages are those of a run's last call and what follows its answer, or those of a call that was refused. */
function goesOn({ last }: OpenRun, messages: readonly Message[]): boolean {
  const before = last.call.request.messages
  const isLonger = messages.length > before.length && last.failure === undefined
  const isAgain = messages.length === before.length && last.isRefused && isRetried(last.failure)
  if (!isLonger && !isAgain) return false
  if (isLonger && messages[before.length]?.role !== 'assistant') return false
  return before.every((message, index) => sameJson(message, messages[index]))
}

/** Whether an engine tries again after such a failure. An answer that ended before its first event is a network failure. */
function isRetried(reason: string | undefined): boolean {
  return reason === 'truncated' || defaultRetryPolicy.retryOn.some((word) => word === reason)
}

function readAnswer(
  call: CassetteCall,
): Pick<RecordedAnswer, 'message' | 'finishReason' | 'failure' | 'isRefused'> {
  try {
    const { message, finishReason } = foldToResponse(call.script, { provider: call.provider })
    return { message, finishReason, isRefused: false }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { partial, reason } = error
    return partial !== undefined && 'message' in partial
      ? { message: partial.message, failure: reason, isRefused: false }
      : { failure: reason, isRefused: true }
  }
}
