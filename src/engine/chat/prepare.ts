import {
  createCollector,
  isCancellation,
  midStep,
  recordBy,
  type Collector,
  type FoldedCall,
} from '../../core/answer/fold-answer.ts'
import { unlessStopped } from '../../core/base/abort.ts'
import { digestOf } from '../../core/base/digest.ts'
import { frozen } from '../../core/base/frozen.ts'
import { itemsOf, sharedList } from '../../core/base/shared-list.ts'
import { unobserved, type Span } from '../../core/base/telemetry.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type {
  CallOptions,
  FormatOption,
  NextStep,
  StepChanges,
} from '../../core/contracts/options.ts'
import { isAllmError, StreamError, type AllmError } from '../../core/errors/errors.ts'
import { assertValid, describe, refusal } from '../../core/schema/checks.ts'
import { validateStepChanges } from '../../core/schema/options.ts'
import type { CallQuestion, PendingCall, PendingKind } from '../../core/types/call.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { merged } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import {
  toMessages,
  type Message,
  type MessagesInput,
  type Thread,
  type ToolCall,
} from '../../core/types/message.ts'
import type { ProviderOptions } from '../../core/types/provider-options.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../../core/types/request.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import type { SavedCalls, Session } from '../../core/types/session.ts'
import { agentsIn, decisionOf, isDecided, isDue, type CallDecision } from '../calls/decided.ts'
import {
  buildRequest,
  mergeByName,
  optionOf,
  runContext,
  callMetadata,
  type RunContext,
  type SessionContext,
} from '../model-call/context.ts'
import { allRecords, decideCall, recordOf } from '../model-call/fold.ts'
import { assertRepairable } from '../model-call/output.ts'
import type { BatchSource } from '../model-call/run-stream.ts'
import { projectTools, toolTable } from '../tools/compact-tools.ts'
import { defaultToolTimeoutMs, type ToolRun } from '../tools/tool-run.ts'
import { contextAfter, handoffIn } from './answering-engine.ts'

/** What a loop has from the engine that answers. A handoff replaces it. */
interface LoopSettings {
  context: RunContext
  maxTurns: number
  /** The format of the answer; with `finalize`, of the last answer only. */
  format: FormatOption | undefined
  finalize: boolean
  tools: ToolRun
  /** The tools as the model sees them. They do not change from turn to turn, so a prompt cache holds. */
  specs: readonly ToolSpec[]
}

/** A loop under way. Its `state` is the fold of every event that it emitted. */
export interface LoopState extends LoopSettings {
  /** One step, or all of them. */
  readonly kind: 'step' | 'chat'
  /** The context of the engine that the run was started with. */
  readonly entry: RunContext
  readonly state: Collector
  readonly mode: 'auto' | 'manual'
  /** The loop started in the middle of a step: its answer was there already. */
  readonly continued: boolean
  /** Calls of earlier answers have something to tell before the model is asked. */
  hasLate: boolean
  /** Messages that follow the results of the first step. */
  late: readonly Message[]
  /** How the session names what waits. */
  readonly tickets: Tickets | undefined
  /** What `prepareStep` changes about the step under way. */
  changes: StepChanges | undefined
  /** The tools of the step under way, if `prepareStep` changed them. */
  changedTools: Pick<LoopState, 'tools' | 'specs'> | undefined
  /** The number of model calls made. */
  turns: number
  /** Whether the settings of the next request were checked with an earlier one. */
  isChecked: boolean
  /** Attempts that an earlier run made of the next model call. */
  attempts: number
  /** Why the loop ends, once that is decided. */
  haltedReason: HaltedReason | undefined
  /** What is being read: a model call, or a batch of tools. */
  source: BatchSource | undefined
  /** The validated answer: what the schema gave, and the same as plain data. */
  output: { readonly value: unknown; readonly plain: JsonValue } | undefined
  /** The span of the run, or of the step under way. */
  span: Span
  /** By which another process finds the first span of this run, or of the one that it goes on with. */
  traced: string | undefined
  /** Ends what the loop waits for: with the signal of the call, or when the consumer leaves. */
  readonly stop: AbortController
}

/** A thread, or the messages of one. A text is one user message. */
export type ThreadInput = Thread | MessagesInput

/** Where a loop starts: at a thread, or in the middle of a run that was cut. */
/** How the session of a run names what waits. A run without a session has no tickets: nothing could settle what it asks for. */
export interface Tickets {
  /** The ticket of a call of this session, for which the question or the arguments are shown. */
  readonly of: (
    kind: PendingKind,
    call: Pick<ToolCall, 'id' | 'name'>,
    shown: CallQuestion | ToolCall['arguments'],
  ) => string
  /** What is kept of the calls of agents that were inside of a call and are gone. */
  readonly before: (callId: string) => SavedCalls | undefined
  /** What an agent inside a call waits for, as this session names it. */
  readonly inside: (
    callId: string,
    agent: Session | readonly PendingCall[],
  ) => readonly PendingCall[]
}

/** What a loop starts from. */
interface LoopStart {
  readonly kind: 'step' | 'chat'
  readonly state: Collector
  readonly turns?: number
  readonly attempts?: number | undefined
  readonly late?: readonly Message[] | undefined
  readonly mode?: 'auto' | 'manual' | undefined
  readonly traced?: string | undefined
  readonly tickets?: Tickets | undefined
}

/** Settles everything that a loop needs. Nothing is sent. */
export function createLoop(
  engine: Engine,
  start: LoopStart,
  options?: CallOptions,
  session?: SessionContext,
): LoopState {
  const entry = runContext(engine, options, session)
  decideCalls(start.state, options?.approvals, entry)
  ownState(start.state)
  const { kind } = start
  const settings = settingsOf(contextAfter(entry, start.state.thread.messages), kind)
  const { context } = settings
  if (finalizes(entry, kind) && optionOf(entry, 'responseFormat') === undefined) {
    const problem = 'needs a responseFormat to finalize with'
    throw refusal('invalid_options', 'structuredFinalize', problem)
  }
  // The engine that a handoff leads to may have a format.
  if (!entry.tools.some(({ handoff }) => handoff !== undefined)) {
    assertRepairable(entry.call.repair, optionOf(entry, 'responseFormat'))
  }
  const turns = start.turns || turnsIn(start.state)
  return {
    ...settings,
    kind,
    entry,
    state: start.state,
    continued: start.state.active,
    hasLate: start.state.earlier.some((call) => call.halt !== undefined || isDue(call)),
    late: frozen(start.late ?? []),
    tickets: start.tickets,
    mode: start.mode ?? optionOf(context, 'mode') ?? 'auto',
    changes: undefined,
    changedTools: undefined,
    turns,
    isChecked: turns > 0,
    attempts: start.attempts ?? 0,
    haltedReason: undefined,
    source: undefined,
    output: undefined,
    span: unobserved,
    traced: start.traced,
    stop: new AbortController(),
  }
}

/** What a run starts from is the caller's. Callbacks see it, so the run goes on with frozen copies of what is not frozen yet. */
function ownState(state: Collector): void {
  const { thread, end, records, earlier } = state
  Object.assign(state, frozen({ thread, end }))
  state.records = sharedList(itemsOf(records).map(ownRecord))
  state.earlier = earlier.map(ownRecord)
}

/** A record with frozen copies of its members, except of the run of an agent inside, which is not the caller's. */
function ownRecord({ inner, ...call }: FoldedCall): FoldedCall {
  return inner === undefined ? frozen(call) : { ...frozen(call), inner }
}

function settingsOf(context: RunContext, kind: LoopState['kind']): LoopSettings {
  const format = optionOf(context, 'responseFormat')
  return {
    context,
    maxTurns: optionOf(context, 'maxTurns') ?? 8,
    format,
    finalize: finalizes(context, kind) && format !== undefined,
    tools: toolRun(context, toolTable(context.tools)),
    specs: frozen(projectTools(context.tools, optionOf(context, 'toolChoice'))),
  }
}

/** Whether a second pass is wanted. A single step has none: a format applies to it directly. */
function finalizes(context: RunContext, kind: LoopState['kind']): boolean {
  return kind === 'chat' && (optionOf(context, 'structuredFinalize') ?? false)
}

/** Goes on with the engine that a step has handed the conversation to, if it has. */
export function handOver(loop: LoopState, newMessages: readonly Message[]): void {
  if (!newMessages.some((message) => handoffIn(message) !== undefined)) return
  const context = contextAfter(loop.entry, loop.state.thread.messages)
  Object.assign(loop, settingsOf(context, loop.kind))
  loop.isChecked = false
}

/** The model calls that led to an answer which was there before the run. */
function turnsIn({ active, thread: { messages } }: Collector): number {
  if (!active) return 0
  const from = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(from).filter(({ role }) => role === 'assistant').length + 1
}

/** The state before the first event of a run that starts at a thread. */
export function startAt(input: ThreadInput): Collector {
  return createCollector(toThread(input))
}

/** The thread of an input. A value that is none is refused. */
function toThread(input: ThreadInput): Thread {
  if (isMessages(input)) return { messages: toMessages(input), metadata: {} }
  if (typeof input === 'object' && input !== null && Array.isArray(input.messages)) return input
  const problem = `must be a text, a list of messages such as [user("…")] or a thread, not ${describe(input)}`
  throw refusal('invalid_thread', '', problem)
}

function isMessages(input: ThreadInput): input is MessagesInput {
  return typeof input === 'string' || Array.isArray(input)
}

/**
 * Notes the decisions of the option `approvals`. A thread that ends with calls that they decide about is continued there: its last
 * answer is the step under way.
 */
function decideCalls(
  state: Collector,
  approvals: CallOptions['approvals'],
  { requestId, engine }: RunContext,
): void {
  if (approvals === undefined) return
  if (!state.active) {
    const { messages } = state.thread
    const at = messages.findLastIndex(({ role }) => role !== 'tool')
    const answer = messages[at]
    const decided = answer?.toolCalls?.some(({ id }) => Object.hasOwn(approvals, id)) ?? false
    if (answer?.role === 'assistant' && decided) {
      const thread = { ...state.thread, messages: messages.slice(0, at) }
      const provider = engine.adapter?.provider ?? ''
      const facts = {
        requestId,
        provider,
        finishReason: 'tool_calls',
        usage: {},
        metadata: {},
      } as const
      const results = new Map(messages.slice(at + 1).map((one) => [one.toolCallId, one]))
      Object.assign(
        state,
        midStep(thread, facts, answer, ({ id }) => recordBy(id, results.get(id))),
      )
    }
  }
  const written = new Map(state.end?.message.toolCalls?.map((call) => [call.id, call]))
  const problem = 'is not a call that waits in the thread'
  const issues: Issue[] = []
  for (const [id, approval] of Object.entries(approvals)) {
    const call = written.get(id)
    if (call === undefined || recordOf(state, id)?.message !== undefined) {
      issues.push({ path: `approvals.${id}`, problem })
    } else decideCall(state, call, approval)
  }
  assertValid('invalid_options', issues)
}

/** Everything that the calls of a run need. */
export function toolRun(run: RunContext, tools: ToolRun['tools']): ToolRun {
  const { engine, call, context, requestId, sessionId } = run
  return {
    tools,
    context,
    requestId,
    sessionId,
    engine,
    executor: engine.defaults.toolExecutor,
    encoder: engine.defaults.toolResultEncoder,
    onToolError: optionOf(run, 'onToolError') ?? 'continue',
    approve: optionOf(run, 'approve'),
    retry: call.retry ?? engine.defaults.retry,
    timeoutMs: optionOf(run, 'toolTimeoutMs') ?? defaultToolTimeoutMs,
    maxConcurrency: optionOf(run, 'maxConcurrency'),
    signal: call.signal,
    clock: engine.clock,
    newId: engine.newId,
    trace: run.trace,
    depth: engine.depth ?? 0,
    metadata: callMetadata(run),
  }
}

/** Waits for something of the caller's. A stop, and leaving the run, ends the wait. */
export function waitFor<T>({ stop }: LoopState, promise: Promise<T>): Promise<T> {
  return unlessStopped(promise, stop.signal)
}

/** A run that was stopped while handlers ran has no complete step, whatever the handlers returned. Nor has one that failed. */
export function throwIfStopped(loop: LoopState): void {
  if (loop.state.error !== undefined || loop.stop.signal.aborted) throw cancelled(loop)
}

/** Why a run that was stopped ends. */
export function cancelled({ stop }: LoopState, thrown?: unknown): AllmError {
  if (isAllmError(thrown) && isCancellation(thrown)) return thrown
  return new StreamError('cancelled', 'the run was cancelled', { cause: stop.signal.reason })
}

/** Asks for the structured answer of `structuredFinalize`. Its metadata tells a run that was cut where it was. */
export const finalizeMessage: Message = {
  role: 'user',
  content: 'Now give your final answer in the required format.',
  metadata: { structuredFinalize: true },
}

/** Whether the next answer, or the last one, is the second pass of `structuredFinalize`. */
export function isFinalizing(loop: LoopState): boolean {
  if (!loop.finalize) return false
  const lastUser = loop.state.thread.messages.findLast((message) => message.role === 'user')
  return lastUser?.metadata?.['structuredFinalize'] === true
}

/** The tools that an answer may call, by their names: none in the second pass, which offers none. */
export function turnToolsByName(loop: LoopState): ToolRun['tools'] {
  return isFinalizing(loop) ? noTools : (loop.changedTools?.tools ?? loop.tools).tools
}

/** How the calls of an answer are run. `answers` has what the user said to those that go on. */
export function turnTools(loop: LoopState, answers: ToolRun['answers']): ToolRun {
  const { state } = loop
  if (isFinalizing(loop)) return { ...loop.tools, tools: noTools, answers }
  const tools = loop.changedTools?.tools ?? loop.tools
  const answer = state.thread.messages.length
  const written = state.end?.message.toolCalls ?? []
  const keyOf = (call: ToolCall): string =>
    callKey(loop, answer, written.find(({ id }) => id === call.id) ?? call)
  const inner = agentsIn(allRecords(state))
  const askedBefore = (id: string): FoldedCall | undefined => recordOf(state, id)
  return merged(tools, { answers, inner, keyOf, askedBefore, before: loop.tickets?.before })
}

/**
 * The same on every run of a call: the session, the place of the answer in its thread, and the call as the model wrote it.
 *
 * Some servers number their calls, so a conversation that was rewound, or begun again under the id of one that was deleted, may have
 * another call in the same place with the same id. Its arguments tell it apart.
 */
export function callKey({ context }: LoopState, answer: number, call: ToolCall): string {
  const { arguments: args } = call
  const digest = Object.keys(args).length === 0 ? '' : `~${digestOf(args)}`
  // A colon separates.
  const id = call.id.replaceAll(':', '%3A')
  return `${context.sessionId ?? context.requestId}:${answer}:${id}${digest}`
}

/** The calls of an answer that have no message. */
export function openCalls({ state }: LoopState, { toolCalls }: ModelResponse): readonly ToolCall[] {
  return toolCalls.filter(({ id }) => recordOf(state, id)?.message === undefined)
}

/** What was decided about a call of the step under way. */
export function decisionOn({ state }: LoopState, call: ToolCall): CallDecision | undefined {
  return decisionOf(recordOf(state, call.id), call)
}

const noTools: ToolRun['tools'] = new Map()

/** What `prepareStep` is told about the step that is next, or about the one that a run which was cut goes on with. */
export function nextStep({ state, turns, context, stop }: LoopState): NextStep {
  return {
    signal: stop.signal,
    messages: Object.freeze(state.thread.messages),
    stepNumber: state.active ? turns - 1 : turns,
    steps: state.steps,
    context: context.context(),
  }
}

/** Takes over what `prepareStep` returned. A value that is not legal throws a sentence that names the hook. */
export function applyChanges(loop: LoopState, changes: StepChanges | undefined | void): void {
  if (changes !== undefined) refuseReturn(validateStepChanges(changes))
  loop.changes = changes ?? undefined
  loop.changedTools = changes?.tools === undefined ? undefined : pickedTools(loop, changes)
}

/** Throws the problems of what `prepareStep` returned, if there are any, in sentences that name the hook. */
function refuseReturn(issues: readonly Issue[]): void {
  assertValid(
    'invalid_options',
    issues.map(({ path, problem }) => ({
      path: 'prepareStep',
      problem: `returned a value that is not legal: ${path === '' ? '' : `${path} `}${problem}`,
    })),
  )
}

/** The tools that `prepareStep` chose, some of them by name. */
function pickedTools(
  loop: LoopState,
  { tools = [], toolChoice }: StepChanges,
): LoopState['changedTools'] {
  const { context } = loop
  const issues: Issue[] = []
  const picked = tools.flatMap((item) => {
    if (typeof item !== 'string') return item
    const known = context.tools.find(({ name }) => name === item)
    if (known !== undefined) return known
    const problem = `has ${describe(item)}, and the run has no such tool`
    issues.push({ path: 'tools', problem })
    return []
  })
  refuseReturn(issues)
  const choice = toolChoice ?? optionOf(context, 'toolChoice')
  const isBound = allRecords(loop.state).some(
    (known) => known.inner !== undefined || isDecided(known),
  )
  // A call that somebody decided about runs, and an agent goes on, whatever is offered now.
  const runnable = isBound ? mergeByName(context.tools, picked) : picked
  return {
    tools: { ...loop.tools, tools: toolTable(runnable) },
    specs: frozen(projectTools(picked, choice)),
  }
}

/** The request of the next turn. */
export function turnRequest(loop: LoopState): ModelRequest {
  const { changes } = loop
  const draft = { messages: frozen(changes?.messages) ?? loop.state.thread.messages }
  if (isFinalizing(loop)) {
    const { providerOptions, ...request } = buildRequest(loop.context, draft, {
      ...changes,
      tools: [],
      toolChoice: undefined,
      responseFormat: loop.format,
    })
    return { ...request, providerOptions: withoutTools(providerOptions) }
  }
  return buildRequest(loop.context, draft, {
    ...changes,
    tools: loop.changedTools?.specs ?? loop.specs,
    toolChoice: changes?.toolChoice ?? turnChoice(loop),
    responseFormat: loop.finalize ? undefined : loop.format,
  })
}

/** Options without the tools that the provider runs, and without what is said about tools. They are plain JSON. */
function withoutTools(options: ProviderOptions): ProviderOptions {
  const about = /^tool(s|_choice|Config)$|^mcp_servers$/
  return JSON.parse(
    JSON.stringify(options, (key, value: JsonValue) => (about.test(key) ? undefined : value)),
  ) as ProviderOptions
}

/** A forced choice holds until tools have answered: a loop that is always forced never ends. */
function turnChoice(loop: LoopState): ToolChoice | undefined {
  const choice = optionOf(loop.context, 'toolChoice')
  if (choice === undefined || choice === 'auto' || choice === 'none') return choice
  return loop.state.thread.messages.at(-1)?.role === 'tool' ? undefined : choice
}
