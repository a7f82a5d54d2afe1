import fc from 'fast-check'
import { callStates, type CallApproval, type CallQuestion } from '../../src/core/types/call.ts'
import type { ErrorData, ErrorKind } from '../../src/core/types/error-data.ts'
import type { StreamEvent } from '../../src/core/types/events.ts'
import type { Message, ToolCall } from '../../src/core/types/message.ts'
import { finishReasons, type ModelResponse } from '../../src/core/types/response.ts'
import { loopHaltReasons, type ChatResult, type StepResult } from '../../src/core/types/results.ts'
import {
  sessionVersion,
  type CallHalt,
  type CallResult,
  type RunProgress,
  type PastCall,
  type SavedCall,
  type Session,
  type SessionStatus,
} from '../../src/core/types/session.ts'
import { waitingStatus, withLists } from '../../src/engine/calls/pending.ts'
import {
  image,
  issue,
  json,
  jsonObject,
  message,
  part,
  shaped,
  text,
  thread,
  toolCall,
  transcript,
  usage,
  word,
} from './arbitraries.ts'

/** Arbitrary results, sessions, errors and events, legal by construction. */

const calls = fc.array(toolCall, { maxLength: 2 })
const finishReason = fc.constantFrom(...finishReasons)
const kinds: readonly ErrorKind[] = [
  'adapter',
  'stream',
  'tool',
  'engine',
  'session',
  'image_adapter',
]

export const errorData: fc.Arbitrary<ErrorData> = shaped<ErrorData>(
  { kind: fc.constantFrom(...kinds, 'validation'), reason: word, message: text },
  {
    metadata: jsonObject,
    cause: json,
    requestId: word,
    provider: word,
    status: fc.integer({ min: 100, max: 599 }),
    retryAfterMs: fc.nat(),
    retryable: fc.boolean(),
    eventIndex: fc.nat(),
    toolName: word,
    toolCallId: word,
    issues: fc.array(issue, { maxLength: 2 }),
    partial: jsonObject,
  },
)

export const modelResponse: fc.Arbitrary<ModelResponse> = shaped<ModelResponse>(
  {
    requestId: word,
    provider: word,
    message,
    outputText: text,
    toolCalls: calls,
    finishReason,
    usage,
    metadata: jsonObject,
  },
  { id: word, model: word, rawFinishReason: word, error: errorData },
)

const toolHalt = shaped(
  { reason: word, toolCallId: word },
  { result: json, question: text, options: jsonObject, error: errorData },
)

export const stepResult: fc.Arbitrary<StepResult> = shaped<StepResult>(
  {
    thread,
    response: modelResponse,
    toolResults: fc.array(message, { maxLength: 2 }),
    done: fc.boolean(),
    manualToolCalls: calls,
  },
  { halt: toolHalt },
)

export const chatResult: fc.Arbitrary<ChatResult> = shaped<ChatResult>(
  {
    thread,
    steps: fc.array(stepResult, { maxLength: 2 }),
    haltedReason: fc.oneof(fc.constantFrom(...loopHaltReasons), word),
    pendingApprovals: calls,
    manualToolCalls: calls,
    usage,
    metadata: jsonObject,
  },
  {
    finalResponse: modelResponse,
    pendingQuestion: text,
    pendingToolCallId: word,
    pendingQuestionOptions: jsonObject,
    haltResult: json,
    error: errorData,
  },
)

const answer = shaped(
  { requestId: word, provider: word, finishReason, usage, metadata: jsonObject },
  { id: word, model: word, rawFinishReason: word, error: errorData },
)

const run = shaped<RunProgress>(
  {
    mode: fc.constantFrom('auto', 'manual'),
    turns: fc.nat({ max: 20 }),
    phase: fc.constantFrom('model', 'tools', 'waiting', 'between'),
  },
  {
    attempts: fc.nat({ max: 9 }),
    takeOvers: fc.nat({ max: 9 }),
    trace: word,
    answer,
    usage,
    told: usage,
    agent: word,
    silent: fc.constant(true),
    haltResult: json,
    late: fc.array(message, { maxLength: 1 }),
  } satisfies Record<keyof Omit<RunProgress, 'mode' | 'turns' | 'phase'>, fc.Arbitrary<unknown>>,
)

/** A time by some clock. */
const at = fc.nat()
const ms = fc.integer({ min: 1, max: 60_000 })
const truth = fc.constant(true)

/** What is kept of a call, except for the session of an agent. */
const savedCall = {
  state: fc.constantFrom(...callStates),
  told: fc.constantFrom('no', 'placeholder', 'result'),
  settled: fc.array(word, { maxLength: 2 }),
  approval: shaped<CallApproval>(
    { decision: fc.constantFrom('approved', 'denied') },
    { by: word, at, reason: text, arguments: jsonObject },
  ),
  question: shaped<CallQuestion>(
    { text },
    {
      options: jsonObject,
      answer: fc.oneof(text, fc.array(part, { maxLength: 2 })),
      by: word,
      at,
    },
  ),
  reason: text,
  since: at,
  expiresAt: at,
  startedAt: at,
  timeoutMs: ms,
  idempotent: truth,
  endedAt: at,
  result: shaped<CallResult>(
    {},
    {
      value: json,
      parts: truth,
      question: shaped({ question: text, options: jsonObject }, { expiresInMs: ms }),
      haltReason: word,
    },
  ),
  error: errorData,
  halt: shaped<CallHalt>({ reason: word }, { result: json, error: errorData }),
  rests: truth,
  inside: fc.dictionary(
    word,
    shaped<SavedCall>(
      {},
      {
        settled: fc.array(word, { maxLength: 2 }),
        state: fc.constantFrom('done', 'denied', 'interrupted'),
        told: fc.constant('result'),
        call: shaped<PastCall>({ name: word, arguments: jsonObject }, { agent: word }),
      },
    ),
    { maxKeys: 2, noNullPrototype: true },
  ),
  call: shaped<PastCall>({ name: word, arguments: jsonObject }, { agent: word }),
} satisfies Record<keyof Omit<SavedCall, 'inner'>, fc.Arbitrary<unknown>>

/** What is kept of a call that waits for somebody. */
const waitingCall: fc.Arbitrary<SavedCall> = fc.oneof(
  shaped<SavedCall>(
    {
      state: fc.constant('asking'),
      told: fc.constant('no'),
      question: shaped({ text }, { options: jsonObject }),
    },
    { since: at, expiresAt: at, settled: savedCall.settled },
  ),
  shaped<SavedCall>(
    { state: fc.constant('awaiting_approval'), told: fc.constant('no') },
    { reason: text, since: at, expiresAt: at, settled: savedCall.settled },
  ),
  shaped<SavedCall>(
    { state: fc.constant('awaiting_result'), told: fc.constant('no') },
    { approval: savedCall.approval, since: at },
  ),
)

/** The parts of a session. */
interface SessionParts {
  readonly session: Session
  /** What is kept of the calls of the thread, in their order. */
  readonly saved: readonly (SavedCall | undefined)[]
  /** What is kept of a call that is not in the thread any more. */
  readonly gone: SavedCall | undefined
  /** The calls of a last answer that wait for somebody. */
  readonly open: readonly (readonly [ToolCall, SavedCall])[]
}

/** A session with those calls, and with the lists and the status that follow from them. */
function fromParts({ session, saved, gone, open }: SessionParts): Session {
  const { thread, status } = session
  const known = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  const noted = known.flatMap(({ id }, index): [string, SavedCall][] => {
    const one = saved[index]
    return one === undefined ? [] : [[id, one]]
  })
  if (gone !== undefined) noted.push(['gone', gone])
  noted.push(...open.map(([{ id }, one]): [string, SavedCall] => [id, one]))
  const toolCalls = open.map(([call]) => call)
  const last: Message = { role: 'assistant', content: '', toolCalls }
  const waiting: RunProgress = { mode: 'auto', turns: 1, ...session.run, phase: 'waiting' }
  const next = withLists({
    ...session,
    ...(noted.length > 0 && { calls: Object.fromEntries(noted) }),
    ...(open.length > 0 && {
      thread: { ...thread, messages: [...thread.messages, last] },
      run: waiting,
    }),
  })
  const isStopped = status === 'halted' || status === 'error'
  return isStopped ? next : { ...next, status: waitingStatus(next) ?? status }
}

function sessionWith(inside: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Session> {
  const always = {
    version: fc.constant(sessionVersion),
    id: word,
    thread,
    pendingToolCalls: fc.constant([]),
    pendingApprovals: fc.constant([]),
    context: jsonObject,
    metadata: jsonObject,
  }
  const status = (...names: SessionStatus[]): { status: fc.Arbitrary<SessionStatus> } => ({
    status: fc.constantFrom(...names),
  })
  const sometimes = { haltedReason: word, error: errorData, run }
  const saved = fc.option(shaped<SavedCall>({}, { ...savedCall, ...inside }), { nil: undefined })
  return fc
    .record<SessionParts>({
      session: fc.oneof(
        shaped<Session>({ ...always, ...status('idle', 'completed') }, sometimes),
        shaped<Session>({ ...always, ...status('halted'), haltedReason: word }, sometimes),
        shaped<Session>({ ...always, ...status('error'), error: errorData }, sometimes),
      ),
      saved: fc.array(saved, { maxLength: 3 }),
      gone: fc.option(shaped<SavedCall>({ settled: savedCall.settled }), { nil: undefined }),
      open: fc.oneof(
        fc.constant([]),
        fc.array(fc.tuple(toolCall, waitingCall), { minLength: 1, maxLength: 3 }),
      ),
    })
    .map(fromParts)
}

export const session: fc.Arbitrary<Session> = sessionWith({ inner: sessionWith({}) })

const index = fc.nat({ max: 9 })
const eventMembers: Readonly<
  Record<StreamEvent['type'], readonly [Members] | readonly [Members, Members]>
> = {
  message_started: [
    { requestId: word, provider: word },
    { id: word, model: word, usage, agent: word },
  ],
  text_delta: [{ delta: text }, { index }],
  text_completed: [{ text }, { index }],
  reasoning_delta: [{ delta: text }, { index }],
  reasoning_completed: [{ text }, { index, opaque: json }],
  tool_call_started: [{ id: word, name: word }],
  tool_call_delta: [{ id: word, argumentsDelta: text }],
  tool_call_completed: [{ call: toolCall }],
  image_completed: [{ image }],
  raw_chunk: [{ chunk: json }],
  message_completed: [
    { message, finishReason },
    { rawFinishReason: word, usage, metadata: jsonObject },
  ],
  error: [{ error: errorData }],
  approval_requested: [
    { toolCallId: word, toolName: word, call: toolCall },
    { reason: text, at },
  ],
  tool_progress: [{ id: word, name: word, data: json }],
  tool_execution_started: [
    { id: word, name: word, arguments: jsonObject },
    { at, timeoutMs: ms, idempotent: truth },
  ],
  tool_execution_completed: [
    {
      id: word,
      name: word,
      result: fc.oneof(shaped({ ok: json }), shaped({ error: errorData })),
      durationMs: fc.nat(),
    },
    { at },
  ],
  tool_result_encoded: [
    { id: word, content: text },
    { interrupted: fc.constantFrom('length', 'cancelled', 'interrupted'), halt: toolHalt },
  ],
  ask_user_requested: [
    { toolCallId: word, toolName: word, question: text, options: jsonObject },
    { at },
  ],
  tool_halt: [{ toolCallId: word, reason: word, result: json, content: text }],
  step_completed: [
    {
      response: modelResponse,
      newMessages: transcript,
      manualToolCalls: calls,
      mode: fc.constantFrom('auto', 'manual'),
    },
    { halt: toolHalt, haltedReason: word },
  ],
  chat_completed: [{ result: chatResult }],
}

type Members = Record<string, fc.Arbitrary<unknown>>

export const streamEvent: fc.Arbitrary<StreamEvent> = fc.oneof(
  ...Object.entries(eventMembers).map(([type, [required, optional]]) =>
    shaped<StreamEvent>({ type: fc.constant(type), ...required }, optional),
  ),
)
