import type { Issue } from '../data/error-data.ts'
import { fine, join } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'

/** The calls of the last assistant message: the place of each, and those that are answered. */
interface Turn {
  readonly calls: Map<string, string>
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
  const turn: Turn = { calls: new Map(), answered: new Set() }
  let issues = fine
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (!isPlainObject(message)) continue
    if (message['role'] === 'tool') {
      issues = join(issues, takeAnswer(turn, message['toolCallId'], index))
      continue
    }
    if (turn.calls.size > 0) issues = join(issues, endTurn(turn))
    if (Array.isArray(message['toolCalls'])) startTurn(turn, message['toolCalls'], index)
  }
  return openEnd ? issues : join(issues, endTurn(turn))
}

function startTurn(turn: Turn, calls: readonly unknown[], index: number): void {
  calls.forEach((call, at) => {
    if (isPlainObject(call) && typeof call['id'] === 'string') {
      turn.calls.set(call['id'], `messages[${index}].toolCalls[${at}]`)
    }
  })
}

function takeAnswer(turn: Turn, id: unknown, index: number): readonly Issue[] {
  if (typeof id !== 'string') return fine
  const path = `messages[${index}].toolCallId`
  if (!turn.calls.has(id)) {
    return [{ path, problem: `answers ${id}, which is no call of the assistant message before it` }]
  }
  if (turn.answered.has(id)) return [{ path, problem: `answers ${id} a second time` }]
  turn.answered.add(id)
  return fine
}

function endTurn({ calls, answered }: Turn): readonly Issue[] {
  let issues = fine
  if (answered.size < calls.size) {
    for (const [id, path] of calls) {
      if (answered.has(id)) continue
      issues = join(issues, [{ path, problem: `tool call ${id} is not answered` }])
    }
  }
  calls.clear()
  answered.clear()
  return issues
}
