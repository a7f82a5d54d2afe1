import { patternProblem, required } from './anthropic-words.ts'
import { objectsOf, shown } from './json-kind.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

/** What is wrong with the messages, each by itself and one after the other. */
export function anthropicTurnsProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
  const [first] = messages
  if (first === undefined) return { message: 'messages: at least one message is required' }
  return (
    firstProblem(messages, (message, index) =>
      messageProblem(message, index, index === messages.length - 1),
    ) ??
    (first['role'] === 'user'
      ? undefined
      : { message: 'messages: first message must use the "user" role' }) ??
    toolOrderProblem(messages)
  )
}

function messageProblem(
  message: JsonObject,
  index: number,
  last: boolean,
): RequestProblem | undefined {
  const at = `messages.${index}`
  const { role, content } = message
  const extra = Object.keys(message).find((name) => name !== 'role' && name !== 'content')
  if (extra !== undefined) return { message: `${at}.${extra}: Extra inputs are not permitted` }
  if (role === undefined) return required(`${at}.role`)
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    return {
      message: `messages: Unexpected role "${shown(role)}". Allowed roles are "user" or "assistant".`,
    }
  if (content === undefined) return required(`${at}.content`)
  if (typeof content !== 'string' && !Array.isArray(content))
    return { message: `${at}.content: Input should be a valid list` }
  if (content.length === 0 && !(last && role === 'assistant')) {
    const rule =
      'all messages must have non-empty content except for the optional final assistant message'
    return { message: `${at}: ${rule}` }
  }
  if (last && role === 'assistant' && endsInSpace(content))
    return { message: 'messages: final assistant content cannot end with trailing whitespace' }
  return firstProblem(objectsOf(content), (block, i) =>
    blockProblem(block, `${at}.content.${i}`, role),
  )
}

function endsInSpace(content: JsonValue): boolean {
  const last = typeof content === 'string' ? content : objectsOf(content).at(-1)?.['text']
  return typeof last === 'string' && last !== '' && last !== last.trimEnd()
}

const blockIds = /^[a-zA-Z0-9_-]+$/

function blockProblem(block: JsonObject, at: string, role: string): RequestProblem | undefined {
  const { type, text, id, name, input, tool_use_id } = block
  if (type === undefined) return required(`${at}.type`)
  if (type === 'text') {
    if (typeof text !== 'string') return required(`${at}.text.text`)
    if (text === '') return { message: 'messages: text content blocks must be non-empty' }
    if (text.trim() === '')
      return { message: 'messages: text content blocks must contain non-whitespace text' }
  }
  if (type === 'tool_use') {
    if (role !== 'assistant') return misplaced(type, role)
    if (name === undefined) return required(`${at}.tool_use.name`)
    if (input === undefined) return required(`${at}.tool_use.input`)
    return patternProblem(`${at}.tool_use.id`, id, blockIds)
  }
  if (type === 'tool_result') {
    if (role !== 'user') return misplaced(type, role)
    return patternProblem(`${at}.tool_result.tool_use_id`, tool_use_id, blockIds)
  }
  if (type === 'thinking' && typeof block['signature'] !== 'string')
    return required(`${at}.thinking.signature`)
  return undefined
}

function misplaced(type: string, role: string): RequestProblem {
  const other = role === 'user' ? 'assistant' : 'user'
  return { message: `messages: \`${type}\` blocks can only be in \`${other}\` messages` }
}

/** Every call is answered at the start of the next turn, and every answer has its call in the turn before. */
function toolOrderProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
  const seen = new Set<string>()
  let open: readonly string[] = []
  let openedAt = 0
  for (const { index, blocks } of turnsOf(messages)) {
    const problem = answersProblem(blocks, open, { index, openedAt })
    if (problem !== undefined) return problem
    open = idsOf(blocks, 'tool_use', 'id')
    openedAt = index
    const repeated = open.find((id, i) => seen.has(id) || open.indexOf(id) !== i)
    if (repeated !== undefined)
      return { message: `messages.${index}: \`tool_use\` ids must be unique` }
    for (const id of open) seen.add(id)
  }
  return open.length === 0 ? undefined : unanswered(openedAt, open)
}

/** Messages of the same role that follow each other are one turn. */
function turnsOf(
  messages: readonly JsonObject[],
): readonly { readonly index: number; readonly blocks: JsonObject[] }[] {
  const turns: { role: JsonValue | undefined; index: number; blocks: JsonObject[] }[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = typeof content === 'string' ? [{ type: 'text' }] : objectsOf(content)
    const turn = turns.at(-1)
    if (turn?.role === role) turn?.blocks.push(...blocks)
    else turns.push({ role, index, blocks: [...blocks] })
  }
  return turns
}

function answersProblem(
  blocks: readonly JsonObject[],
  open: readonly string[],
  { index, openedAt }: { readonly index: number; readonly openedAt: number },
): RequestProblem | undefined {
  const answered = idsOf(blocks, 'tool_result', 'tool_use_id')
  const orphan = answered.find((id) => !open.includes(id))
  if (orphan !== undefined) {
    const at = blocks.findIndex((block) => block['tool_use_id'] === orphan)
    const message = `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    return { message }
  }
  // What stands before the results separates them from their calls.
  const leading = blocks.findIndex((block) => block['type'] !== 'tool_result')
  const inPlace = leading === -1 ? answered : answered.slice(0, leading)
  const rest = open.filter((id) => !inPlace.includes(id))
  return rest.length === 0 ? undefined : unanswered(openedAt, rest)
}

function unanswered(index: number, ids: readonly string[]): RequestProblem {
  const names = ids.join(', ')
  const message = `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${names}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
  return { message }
}

function idsOf(blocks: readonly JsonObject[], type: string, member: string): readonly string[] {
  return blocks.flatMap((block) => (block['type'] === type ? [shown(block[member])] : []))
}
