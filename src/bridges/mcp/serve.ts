import { systemClock } from '../../core/base/clock.ts'
import type { SealSecret } from '../../core/base/seal.ts'
import type { EngineContext } from '../../core/contracts/engine.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { issueList } from '../../core/errors/errors.ts'
import { isErrorResult } from '../../core/messages/tool-messages.ts'
import {
  assertOptions,
  assertValid,
  isPlainObject,
  jsonObject,
  refusal,
  within,
} from '../../core/schema/checks.ts'
import { callOptionChecks } from '../../core/schema/options.ts'
import { isObject, keysOf } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { streamToolCalls, type ToolCallsOptions } from '../../engine/tools/run-tool-calls.ts'
import {
  anyValue,
  asPeer,
  noTimeout,
  objectOf,
  onRequest,
  type McpServer,
  type RequestExtra,
} from './peer.ts'
import { foreignIssues } from './schemas.ts'
import {
  createStates,
  firstRound,
  stateKeyCheck,
  type Asked,
  type Round,
  type States,
  type StateSubject,
} from './state.ts'

/** The options of `serveMcp`. They mean what they mean for `runToolCalls`. */
export interface ServeMcpOptions extends Pick<
  ToolCallsOptions,
  | 'engine'
  | 'toolExecutor'
  | 'toolResultEncoder'
  | 'onToolError'
  | 'approve'
  | 'toolTimeoutMs'
  | 'clock'
> {
  /** Handed to the handlers. A function gets what the package passes with a request, such as who is signed in. */
  readonly context?: EngineContext | ((extra: object) => EngineContext) | undefined
  /**
   * Signs what a client keeps of a call while its user is asked (protocol of 2026-07-28): a secret of at least 32 bytes, text or bytes,
   * the same in every process. A server that is stateless or has replicas needs it. By default each process has a random one.
   */
  readonly stateKey?: SealSecret | undefined
}

/**
 * Offers tools to MCP clients, over a server of either official package that is not connected yet.
 *
 * Arguments, deadlines, progress, cancellation and errors are those of the tools. What `askUser` asks is an elicitation, and a call that
 * needs approval is asked about in the same way. If the client cannot ask its user, both are failed calls; nothing runs without approval.
 * The `approve` policy is asked in every round of a call: the approval of a user turns its `ask` into `run`, never its `deny`.
 */
export function serveMcp(
  tools: readonly Tool[],
  server: McpServer,
  options: ServeMcpOptions = {},
): void {
  assertOptions('invalid_options', options, optionKeys)
  assertValid('invalid_tool', within('tools', callOptionChecks.tools(tools)))
  const { stateKey, ...toolOptions } = options
  const { engine, toolExecutor = engine } = toolOptions
  if (stateKey !== undefined)
    assertValid('invalid_options', within('stateKey', stateKeyCheck(stateKey)))
  for (const { name, manual, handler, handoff } of tools) {
    const hasCode = !manual && (handler ?? toolExecutor) !== undefined
    const problem = hasCode ? handoff && 'it hands a conversation over' : 'it has no handler'
    if (problem !== undefined) throw refusal('invalid_tool', name, `cannot be served: ${problem}`)
  }
  if (!isObject(server)) {
    throw refusal('invalid_options', 'server', 'must be a server of an official MCP package')
  }
  const parts = engine === undefined ? undefined : engineParts(engine, 'engine')
  const states = createStates(stateKey, options.clock ?? parts?.clock ?? systemClock)
  const hasPolicy = (options.approve ?? parts?.defaults.approve) !== undefined
  const peer = asPeer('server' in server ? server.server : server)
  peer.registerCapabilities?.({ tools: {} })
  if (!onRequest(peer, 'tools/list', async () => ({ tools: tools.map(listed) }))) {
    throw refusal('invalid_options', 'server', 'has tools of its own; serve these with another one')
  }
  onRequest(peer, 'tools/call', async ({ params }, extra) => {
    const { name, arguments: args = {} } = objectOf(params)
    const tool = tools.find((one) => one.name === name)
    if (tool === undefined) throw invalidParams(`there is no tool ${String(name).slice(0, 200)}`)
    const issues = within('arguments', jsonObject(args))
    if (issues.length > 0) throw invalidParams(issueList(issues))
    const declared = extra.mcpReq?.envelope?.['io.modelcontextprotocol/clientCapabilities']
    const { elicitation } = objectOf(declared ?? peer.getClientCapabilities?.())
    const canAsk = elicitation !== undefined
    // They were checked.
    const call = { tool, args: args as JsonObject, extra, states, hasPolicy, canAsk }
    return answerCall({ ...call, options: toolOptions })
  })
}

/** A request that cannot be served. The packages send the code of an error. */
function invalidParams(message: string): Error {
  return Object.assign(new Error(message), { code: -32_602 })
}

const optionKeys = /* @__PURE__ */ keysOf<ServeMcpOptions>({
  engine: true,
  context: true,
  toolExecutor: true,
  toolResultEncoder: true,
  onToolError: true,
  approve: true,
  toolTimeoutMs: true,
  clock: true,
  stateKey: true,
})

function listed({ name, description, schema, idempotent }: Tool): object {
  const inputSchema = { type: 'object', ...schema }
  return { name, description, inputSchema, annotations: { idempotentHint: idempotent } }
}

/** A call that was received. */
interface ServedCall {
  readonly tool: Tool
  readonly args: JsonObject
  readonly extra: RequestExtra
  readonly options: Omit<ServeMcpOptions, 'stateKey'>
  readonly states: States
  /** Whether an `approve` policy decides, of the server or of its engine. */
  readonly hasPolicy: boolean
  /** Whether the client can ask its user. */
  readonly canAsk: boolean
}

/** What a round gives: a result of MCP, or the round that the answer to its question begins. */
type Answered = { readonly result: object } | { readonly next: AskingRound }

/** A round that begins with the answer to a question. */
type AskingRound = Round & { readonly asked: Asked }

/** Runs a call, round by round, until it has a result. */
async function answerCall(call: ServedCall): Promise<object> {
  const { extra, states } = call
  const { mcpReq, sendRequest, signal } = extra
  if (mcpReq !== undefined) {
    // The newer package asks in the way of the client's protocol, and calls again with the state and the answer.
    const subject = subjectOf(call)
    const state = mcpReq.requestState()
    const round = state === undefined ? firstRound() : await states.read(state, subject)
    if ('refused' in round) return failed(round.refused).result
    const answered = await runRound(call, round, mcpReq.inputResponses?.['user'])
    if ('result' in answered) return answered.result
    const inputRequests = { user: requestOf(answered.next) }
    const requestState = await states.write(answered.next, subject)
    return { resultType: 'input_required', inputRequests, requestState }
  }
  let answered = await runRound(call, firstRound(), undefined)
  while ('next' in answered) {
    const { next } = answered
    const reply = await sendRequest?.(requestOf(next), anyValue, { signal, timeout: noTimeout })
    answered = await runRound(call, next, reply)
  }
  return answered.result
}

/** What a state of a call is bound to. A token may be a new one in the next round; the client that it was given to stays. */
function subjectOf({ tool, args, extra }: ServedCall): StateSubject {
  const caller = [extra.sessionId, extra.http?.authInfo?.clientId]
  const { name, description, schema } = tool
  return { tool: [name, description, schema], args, caller }
}

function requestOf({ asked: { question, form } }: AskingRound): object {
  const params = { message: question, requestedSchema: form }
  return { method: 'elicitation/create', params }
}

async function runRound(call: ServedCall, round: Round, reply: unknown): Promise<Answered> {
  const { asked } = round
  const { action, content } = objectOf(reply)
  if (asked === undefined) return runTool(call, round)
  const isApproval = asked.answers === 'approval'
  if (action !== 'accept') {
    const what = isApproval ? 'approve the call, which was not run' : 'answer'
    return failed(`the user did not ${what}`)
  }
  if (isApproval) return runTool(call, { ...round, isApproved: true })
  const form = objectOf(content)
  const issues = foreignIssues(asked.form, form)
  if (issues.length > 0) return failed(`the answer does not fit the question: ${issueList(issues)}`)
  // A form of the tool's own is passed on as JSON.
  const [field, ...others] = Object.entries(form)
  const isPlain = field?.[0] === 'answer' && others.length === 0
  const answer = isPlain ? String(field[1]) : JSON.stringify(form)
  if (asked.answers === 'result') return { result: { content: blocksOf(answer) } }
  return runTool({ ...call, tool: withAnswer(call.tool, answer) }, round)
}

/** Runs the tool, as far as the policy lets it. `approve` replaces the policy. */
async function runTool(
  call: ServedCall,
  round: Round,
  approve: ServeMcpOptions['approve'] = call.options.approve,
): Promise<Answered> {
  const { tool, args, extra, options } = call
  const { id, isApproved } = round
  const { context, ...rest } = options
  const { signal, _meta: meta } = extra.mcpReq ?? extra
  const ask = (answers: Asked['answers'], question: string, form: JsonObject): Answered => {
    if (!call.canAsk) return failed(`${question} ${cannotAsk}`)
    return {
      next: { id, number: round.number + 1, isApproved, asked: { answers, question, form } },
    }
  }
  const stream = streamToolCalls([{ id: callId, name: tool.name, arguments: args }], [tool], {
    ...rest,
    approve,
    context: typeof context === 'function' ? context(extra) : context,
    requestId: id,
    sessionId: extra.sessionId,
    signal,
  })
  let value: JsonValue | undefined
  let steps = 0
  for await (const event of stream) {
    switch (event.type) {
      case 'tool_progress':
        // What goes on inside an agent is not for the client.
        if (event.inner !== undefined) break
        await tellProgress(extra, meta?.progressToken, progressOf(event.data, ++steps))
        break
      case 'tool_execution_completed':
        value = 'ok' in event.result ? event.result.ok : undefined
        break
      case 'approval_requested':
        if (event.toolCallId !== callId) return failed(cannotWait(tool))
        if (!isApproved)
          return ask('approval', `Run ${tool.name} with ${JSON.stringify(args)}?`, formOf({}))
        // A policy that failed has not said that the user may decide.
        if (call.hasPolicy && event.reason !== undefined) return failed(noVerdict)
        return runTool(call, round, () => 'run')
      case 'ask_user_requested': {
        if (event.toolCallId !== callId) return failed(cannotWait(tool))
        const { question, options: details } = event
        const { schema, resume } = details
        const form = isPlainObject(schema) ? schema : formOf({ answer: answerOf(details) })
        return ask(resume === true ? 'handler' : 'result', question, form)
      }
      case 'tool_result_encoded':
      case 'tool_halt':
        return { result: resultOf(event.content, event.metadata, value) }
      default:
    }
  }
  throw new Error('the call was cancelled')
}

const noVerdict = 'the server could not decide whether the call may run, so it was not run'

const cannotAsk =
  '(this client cannot ask its user; over HTTP without sessions that takes the protocol of 2026-07-28, so versionNegotiation: { mode: "auto" } of the official client)'

/** The id of the call in its batch. */
const callId = 'call'

/** The run inside an agent is over with the call, so nobody could come back to it. */
function cannotWait({ name }: Tool): string {
  return `the agent ${name} waits for an answer or an approval inside, which a call over MCP cannot do`
}

function failed(why: string): { readonly result: object } {
  return { result: { content: blocksOf(why), isError: true } }
}

function formOf(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** The field for the answer to a question: one of its choices, or a text. */
function answerOf({ choices }: JsonObject): JsonObject {
  const isChoice =
    Array.isArray(choices) && choices.length > 0 && choices.every((one) => typeof one === 'string')
  return { type: 'string', title: 'Answer', ...(isChoice ? { enum: choices } : {}) }
}

function withAnswer(tool: Tool, answer: string): Tool {
  return {
    ...tool,
    handler: (args: JsonObject, options) => tool.handler?.(args, { ...options, answer }),
  }
}

function tellProgress(
  { mcpReq, sendNotification }: RequestExtra,
  progressToken: unknown,
  progress: object,
): Promise<void> | undefined {
  const send = mcpReq?.notify ?? sendNotification
  if (progressToken === undefined) return undefined
  return send?.({ method: 'notifications/progress', params: { progressToken, ...progress } })
}

/** The progress of a handler in the words of MCP: numbers as they are, anything else as a message of the next step. */
function progressOf(data: JsonValue, step: number): object {
  const { progress, total, message } = objectOf(data)
  if (typeof progress === 'number') return { progress, total, message }
  if (typeof data === 'number') return { progress: data }
  return { progress: step, message: typeof data === 'string' ? data : JSON.stringify(data) }
}

function resultOf(
  content: Message['content'],
  metadata: JsonObject | undefined,
  value: JsonValue | undefined,
): object {
  const isError = isErrorResult({
    role: 'tool',
    content,
    ...(metadata === undefined ? {} : { metadata }),
  })
  return {
    content: blocksOf(content),
    ...(isPlainObject(value) && !isError ? { structuredContent: value } : {}),
    ...(isError ? { isError } : {}),
  }
}

/** The content of a tool message as blocks of MCP. */
function blocksOf(content: Message['content']): readonly object[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const media = part.type === 'image' ? part.image : part.type === 'file' ? part.file : undefined
    if (media === undefined || media.type === 'id') return { type: 'text', text: `[${part.type}]` }
    const { mimeType, name = part.type } = media
    if (media.type === 'url') return { type: 'resource_link', uri: media.url, name, mimeType }
    const [kind] = media.mimeType.split('/')
    if (kind === 'image' || kind === 'audio') return { type: kind, data: media.base64, mimeType }
    const uri = `attachment:${encodeURIComponent(name)}`
    return { type: 'resource', resource: { uri, mimeType, blob: media.base64 } }
  })
}
