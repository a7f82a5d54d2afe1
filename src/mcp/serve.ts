import type { EngineContext } from '../contracts/engine.ts'
import type { Tool } from '../contracts/tool.ts'
import { randomId } from '../core/ids.ts'
import { isErrorResult } from '../make/tool-messages.ts'
import { assertOptions, assertValid, isPlainObject, refusal, within } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import { streamToolCalls, type ToolCallsOptions } from '../tools/run-tools.ts'
import { keysOf, parseJson } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Message } from '../types/message.ts'
import {
  anyValue,
  asPeer,
  noTimeout,
  objectOf,
  onRequest,
  type McpServer,
  type RequestExtra,
} from './peer.ts'

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
}

/**
 * Offers tools to MCP clients, over a server of either official package that is not connected yet.
 *
 * Arguments, deadlines, progress, cancellation and errors are those of the tools. What `askUser` asks is an elicitation, and a call that
 * needs approval is asked about in the same way. If the client cannot ask its user, both are failed calls; nothing runs without approval.
 */
export function serveMcp(
  tools: readonly Tool[],
  server: McpServer,
  options: ServeMcpOptions = {},
): void {
  assertOptions('invalid_options', options, optionKeys)
  assertValid('invalid_tool', within('tools', callOptionChecks.tools(tools)))
  const { engine, toolExecutor = engine } = options
  for (const { name, manual, handler, handoff } of tools) {
    const hasCode = !manual && (handler ?? toolExecutor) !== undefined
    const problem = hasCode ? handoff && 'it hands a conversation over' : 'it has no handler'
    if (problem !== undefined) throw refusal('invalid_tool', name, `cannot be served: ${problem}`)
  }
  const peer = asPeer('server' in server ? server.server : server)
  peer.registerCapabilities?.({ tools: {} })
  if (!onRequest(peer, 'tools/list', async () => ({ tools: tools.map(listed) }))) {
    throw refusal('invalid_options', 'server', 'has tools of its own; serve these with another one')
  }
  onRequest(peer, 'tools/call', async ({ params }, extra) => {
    const { name, arguments: args } = objectOf(params)
    const tool = tools.find((one) => one.name === name)
    if (tool === undefined) {
      // The packages send the code of an error.
      throw Object.assign(new Error(`there is no tool ${String(name)}`), { code: -32_602 })
    }
    const declared = extra.mcpReq?.envelope?.['io.modelcontextprotocol/clientCapabilities']
    const { elicitation } = objectOf(declared ?? peer.getClientCapabilities?.())
    const canAsk = elicitation !== undefined
    // What comes over the wire is JSON.
    return answerCall({ tool, args: objectOf(args) as JsonObject, extra, options, canAsk })
  })
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
  readonly options: ServeMcpOptions
  /** Whether the client can ask its user. */
  readonly canAsk: boolean
}

/** What is known of the rounds before. It goes to the client with a question, and comes back with the answer. */
interface Round {
  /** The same in all rounds of a call. */
  readonly id: string
  readonly isApproved: boolean
  /** What the answer is for: the `approval`, the `handler`, or the `result` itself. */
  readonly asked: unknown
}

/** A result of MCP. If that is a question, the same as a request, and the round that its answer begins. */
interface Answered {
  readonly result: object
  readonly request?: object
  readonly next?: Round
}

/** Runs a call, round by round, until it has a result. */
async function answerCall(call: ServedCall): Promise<object> {
  const { mcpReq, sendRequest, signal } = call.extra
  if (mcpReq !== undefined) {
    // The newer package asks in the way of the client's protocol, and calls again with the round and the answer.
    const round = readRound(parseJson(String(mcpReq.requestState())))
    return (await runRound(call, round, mcpReq.inputResponses?.['user'])).result
  }
  let answered = await runRound(call, readRound({}), undefined)
  while (answered.request !== undefined) {
    const reply = await sendRequest?.(answered.request, anyValue, { signal, timeout: noTimeout })
    answered = await runRound(call, readRound(answered.next), reply)
  }
  return answered.result
}

/** A round as it came back. Whatever a client writes into it, it could as well have let its user answer. */
function readRound(state: unknown): Round {
  const { id, isApproved, asked } = objectOf(state)
  return {
    id: typeof id === 'string' ? id : randomId('call'),
    isApproved: isApproved === true,
    asked,
  }
}

async function runRound(call: ServedCall, round: Round, reply: unknown): Promise<Answered> {
  const { tool, args, extra, options } = call
  const { id, asked } = round
  const { action, content: form } = objectOf(reply)
  if (asked !== undefined && action !== 'accept') {
    const what = asked === 'approval' ? 'approve the call, which was not run' : 'answer'
    return failed(`the user did not ${what}`)
  }
  // A form of the tool's own is passed on as JSON.
  const [field, ...others] = Object.entries(objectOf(form))
  const isPlain = field?.[0] === 'answer' && others.length === 0
  const answer = isPlain ? String(field[1]) : JSON.stringify(form ?? {})
  if (asked === 'result') return { result: { content: blocksOf(answer) } }
  const isApproved = round.isApproved || asked === 'approval'
  const { context, ...rest } = options
  const { signal, _meta: meta } = extra.mcpReq ?? extra
  const ask = (whatFor: string, message: string, requestedSchema: object): Answered => {
    if (!call.canAsk) return failed(`${message} (this client cannot ask its user)`)
    const request = { method: 'elicitation/create', params: { message, requestedSchema } }
    const next = { id, isApproved, asked: whatFor }
    const result = { resultType: 'input_required', inputRequests: { user: request } }
    return { result: { ...result, requestState: JSON.stringify(next) }, request, next }
  }
  const stream = streamToolCalls(
    [{ id: callId, name: tool.name, arguments: args }],
    [asked === 'handler' ? withAnswer(tool, answer) : tool],
    {
      ...rest,
      ...(isApproved ? { approve: () => 'run' as const } : {}),
      context: typeof context === 'function' ? context(extra) : context,
      requestId: id,
      sessionId: extra.sessionId,
      signal,
    },
  )
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
        return ask('approval', `Run ${tool.name} with ${JSON.stringify(args)}?`, formOf({}))
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

/** The id of the call in its batch. */
const callId = 'call'

/** The run inside an agent is over with the call, so nobody could come back to it. */
function cannotWait({ name }: Tool): string {
  return `the agent ${name} waits for an answer or an approval inside, which a call over MCP cannot do`
}

function failed(why: string): Answered {
  return { result: { content: blocksOf(why), isError: true } }
}

function formOf(properties: object): object {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** The field for the answer to a question: one of its choices, or a text. */
function answerOf({ choices }: JsonObject): object {
  const isChoice = Array.isArray(choices) && choices.every((one) => typeof one === 'string')
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
