import { type ContentOutcome, outcomeBrand } from '../../core/contracts/tool.ts'
import { submitOptions, type SubmitOptions, toolResult } from '../../core/messages/messages.ts'
import { approvedContent, resultState, toLateMessage } from '../../core/messages/tool-messages.ts'
import { assertValid, refusal, someText, within } from '../../core/schema/checks.ts'
import { content as contentIssues } from '../../core/schema/validate.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import { callOf, type Message, type Part, type ToolCall } from '../../core/types/message.ts'
import { addUsage } from '../../core/types/response.ts'
import type { Session } from '../../core/types/session.ts'
import { withoutInner } from '../calls/kept.ts'
import { pendingCalls } from '../calls/pending.ts'
import { innerPlace, savedCall } from '../calls/places.ts'
import {
  assertSettleOptions,
  openWait,
  type Settlement,
  settlementOf,
  type SettleOptions,
  withSettled,
} from '../calls/settle.ts'
import { untoldUsage } from './inner.ts'
import { checked } from './legal.ts'
import {
  inAgent,
  relisted,
  unknownCall,
  withAnswers,
  withLate,
  withRun,
  noWait,
} from './settling.ts'

/**
 * Answers one pending call. When nothing is pending any more, the session is idle; then call `resume`.
 *
 * If the conversation went on meanwhile, the result is told to the model in a message of its own (`metadata.lateResultOf`).
 */
export function submitToolResult(
  session: Session,
  toolCallId: string,
  content: ToolResultContent,
  { ticket, by, ...options }: SubmitOptions & SettleOptions = {},
): Session {
  assertValid('invalid_options', submitOptions(options))
  return submitToolResults(session, [{ toolCallId, content, ticket, by, ...options }])
}

/** Answers several pending calls. A call that is not pending, or is answered twice, throws, and nothing changes. */
export function submitToolResults(session: Session, results: readonly ToolResultInput[]): Session {
  if (results.length === 0) return session
  const given = results.map((result) => {
    const id = 'toolCallId' in result ? result.toolCallId : result.id
    const { ticket, by } = result
    assertValid('invalid_options', within('toolCallId', someText(id)))
    assertSettleOptions({ ticket, by })
    if (ticket !== undefined) openWait(session, 'result', id, { ticket })
    return { id, result }
  })
  checked(session, 'submitToolResult')
  const waiting = pendingCalls(session).filter(({ kind }) => kind === 'result')
  const tickets = new Map(waiting.map(({ call, ticket }) => [call.id, ticket]))
  return submitted(
    session,
    given.map(({ id, result }) => {
      const { by } = result
      return { id, result, settlement: settlementOf({ ticket: tickets.get(id) ?? '' }, { by }) }
    }),
  )
}

/**
 * The result of a tool: a text as it is, parts made by `content(parts)`, any other JSON value encoded.
 *
 * A plain list of text parts and of media with their bytes counts as parts too. One that names an address, a file of a provider or
 * an item is refused: say `content(parts)` if it is meant.
 */
export type ToolResultContent = JsonValue | ContentOutcome | readonly Part[]

/** The result of a call that the caller had to answer. The call's id may have either name. */
export type ToolResultInput = (
  | { readonly toolCallId: string; readonly content: ToolResultContent }
  | { readonly id: string; readonly content: ToolResultContent }
) &
  SubmitOptions &
  SettleOptions

/** A result that was handed in, and how the call keeps that. */
interface Submitted {
  readonly id: string
  readonly result: ToolResultInput
  readonly settlement: Settlement
}

function submitted(given: Session, results: readonly Submitted[]): Session {
  let session = given
  const pending = new Map(session.pendingToolCalls.map((call) => [call.id, call]))
  const inTime: Message[] = []
  const late: Message[] = []
  const inside: Submitted[] = []
  for (const one of results) {
    const { id, result, settlement } = one
    const call = pending.get(id)
    if (call === undefined) throw unknownCall('are pending', id, session.pendingToolCalls)
    pending.delete(id)
    if (innerPlace(session, id) !== undefined) {
      inside.push(one)
      continue
    }
    const { told } = savedCall(session, id) ?? {}
    const isLate = told === 'placeholder'
    const message = asApproved(
      toolResult(id, meant(result.content), { isError: result.isError }),
      call,
      callOf(session.thread, id),
    )
    if (isLate) late.push(toLateMessage(call, message))
    else inTime.push(message)
    session = withSettled(withoutAgent(session, id), id, settlement, {
      ...noWait,
      state: resultState(message),
      told: isLate ? 'placeholder' : 'result',
    })
  }
  const next = relisted({ ...session, thread: withAnswers(session.thread, inTime) })
  return inside.reduce(
    (settled, { id, result, settlement }) =>
      inAgent(settled, id, (inner, own) => submitted(inner, [{ id: own, result, settlement }])) ??
      settled,
    withLate(next, late),
  )
}

/** The session without the agent inside a call that somebody else has answered. What it used is kept. */
function withoutAgent(session: Session, id: string): Session {
  const saved = savedCall(session, id)
  if (saved?.inner === undefined) return session
  const usage = addUsage(session.run?.usage ?? {}, untoldUsage(saved.inner))
  return withRun({ ...session, calls: { ...session.calls, [id]: withoutInner(saved) } }, { usage })
}

/** A result, which says so if its call was approved with other arguments than the model wrote. */
function asApproved(message: Message, { arguments: args }: ToolCall, written?: ToolCall): Message {
  if (written === undefined || JSON.stringify(written.arguments) === JSON.stringify(args)) {
    return message
  }
  const metadata = { ...message.metadata, approvedArguments: args }
  return { ...message, content: approvedContent(args, message.content), metadata }
}

/** The parts that `content` made, or a value that is data. A list that looks like parts is taken as parts only if it cannot do harm. */
function meant(value: ToolResultContent): JsonValue | readonly Part[] {
  if (isContent(value)) return value.parts
  if (isPartList(value) && !value.every(isInline)) {
    const problem =
      'looks like parts that name an address, a file, an item or options of a provider; pass content(parts) if that is meant, and JSON.stringify(value) if it is data'
    throw refusal('invalid_message', 'content', problem)
  }
  return value
}

function isContent(value: ToolResultContent): value is ContentOutcome {
  return isObject(value) && outcomeBrand in value
}

function isPartList(value: ToolResultContent): value is readonly Part[] {
  return Array.isArray(value) && contentIssues(value).length === 0
}

/** Whether a part is a text or has its bytes, and no option of a provider. */
function isInline(part: Part): boolean {
  if (part.providerOptions !== undefined) return false
  if (part.type === 'image') return part.image.type === 'base64'
  return part.type === 'file' ? part.file.type === 'base64' : part.type === 'text'
}
