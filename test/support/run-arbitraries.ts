import fc from 'fast-check'
import type { ErrorData, ErrorKind } from '../../src/core/types/error-data.ts'
import type { StreamEvent } from '../../src/core/types/events.ts'
import { finishReasons, type ModelResponse } from '../../src/core/types/response.ts'
import { loopHaltReasons, type ChatResult, type StepResult } from '../../src/core/types/results.ts'
import { sessionVersion, type Session } from '../../src/core/types/session.ts'
import {
  image,
  issue,
  json,
  jsonObject,
  message,
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

const run = shaped(
  {
    mode: fc.constantFrom('auto', 'manual'),
    turns: fc.nat({ max: 20 }),
    phase: fc.constantFrom('model', 'tools', 'waiting', 'between'),
    started: fc.array(word, { maxLength: 2 }),
    halts: fc.array(toolHalt, { maxLength: 2 }),
  },
  {
    answer,
    starts: fc.array(
      shaped(
        { toolCallId: word, at: fc.nat() },
        { timeoutMs: fc.integer({ min: 1, max: 60_000 }), idempotent: fc.constant(true) },
      ),
      { maxLength: 2 },
    ),
    decisions: fc.array(
      shaped({ call: toolCall }, { deny: text, answer: text, late: fc.constant(true) }),
      { maxLength: 2 },
    ),
  },
)

const always = {
  version: fc.constant(sessionVersion),
  id: word,
  thread,
  pendingToolCalls: calls,
  pendingApprovals: calls,
  context: jsonObject,
  metadata: jsonObject,
}
const sometimes = {
  pendingQuestion: text,
  pendingToolCallId: word,
  pendingQuestionOptions: jsonObject,
  moreQuestions: fc.array(toolHalt, { maxLength: 2 }),
  haltedReason: word,
  error: errorData,
  run,
}
const status = (name: string): { status: fc.Arbitrary<string> } => ({ status: fc.constant(name) })

export const session: fc.Arbitrary<Session> = fc.oneof(
  shaped<Session>({ ...always, status: fc.constantFrom('idle', 'completed') }, sometimes),
  shaped<Session>({ ...always, ...status('awaiting_user'), pendingQuestion: text }, sometimes),
  shaped<Session>(
    {
      ...always,
      ...status('awaiting_tools'),
      pendingToolCalls: fc.array(toolCall, { minLength: 1, maxLength: 2 }),
    },
    sometimes,
  ),
  shaped<Session>(
    {
      ...always,
      ...status('awaiting_approval'),
      pendingApprovals: fc.array(toolCall, { minLength: 1, maxLength: 2 }),
    },
    sometimes,
  ),
  shaped<Session>({ ...always, ...status('halted'), haltedReason: word }, sometimes),
  shaped<Session>({ ...always, ...status('error'), error: errorData }, sometimes),
)

const index = fc.nat({ max: 9 })
/** A time by some clock. */
const at = fc.nat()
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
    { at, timeoutMs: fc.integer({ min: 1, max: 60_000 }), idempotent: fc.constant(true) },
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
