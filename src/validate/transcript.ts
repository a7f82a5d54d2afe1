import type { Issue } from '../data/error-data.ts'
import { fine, join } from './check.ts'

/** The calls of the last assistant message: its place, theirs in it by id, and those that are answered. */
interface Turn {
  index: number
  readonly calls: Map<string, number>
  readonly answered: Set<string>
}

/**
 * The problems of messages as a conversation: each tool call is answered exactly once, before anything else is said.
 *
 * With `openEnd`, the calls of the last turn may still wait for their answers.
 */
export function transcriptIssues(
  messages: readonly unknown[],
  openEnd: boolean = false,
): readonly Issue[] {
  const turn: Turn = { index: 0, calls: new Map(), answered: new Set() }
  let issues = fine
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (!isObject(message)) continue
    const { role, toolCalls, toolCallId } = message
    if (role === 'tool') {
      issues = join(issues, takeAnswer(turn, toolCallId, index))
      continue
    }
    if (turn.calls.size > 0) issues = join(issues, endTurn(turn))
    if (Array.isArray(toolCalls)) startTurn(turn, toolCalls, index)
  }
  return openEnd ? issues : join(issues, endTurn(turn))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function startTurn(turn: Turn, calls: readonly unknown[], index: number): void {
  turn.index = index
  calls.forEach((call, at) => {
    if (isObject(call) && typeof call['id'] === 'string') turn.calls.set(call['id'], at)
  })
}

function takeAnswer(turn: Turn, id: unknown, index: number): readonly Issue[] {
  if (typeof id !== 'string') return fine
  if (turn.calls.has(id) && !turn.answered.has(id)) {
    turn.answered.add(id)
    return fine
  }
  const problem = turn.calls.has(id)
    ? `answers ${id} a second time`
    : `answers ${id}, which is no call of the assistant message before it`
  return [{ path: `messages[${index}].toolCallId`, problem }]
}

function endTurn({ index, calls, answered }: Turn): readonly Issue[] {
  let issues = fine
  if (answered.size < calls.size) {
    for (const [id, at] of calls) {
      if (answered.has(id)) continue
      const path = `messages[${index}].toolCalls[${at}]`
      issues = join(issues, [{ path, problem: `tool call ${id} is not answered` }])
    }
  }
  calls.clear()
  answered.clear()
  return issues
}
