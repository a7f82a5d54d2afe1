import type { Engine } from '../../core/contracts/engine.ts'
import type { Instructions } from '../../core/contracts/options.ts'
import {
  agentChannel,
  outcomeBrand,
  type AgentChannel,
  type AgentOutcome,
  type HandlerOptions,
  type ApprovalNeed,
  type Tool,
} from '../../core/contracts/tool.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import { fail } from '../../core/messages/outcomes.ts'
import {
  assertOptions,
  assertValid,
  between,
  join,
  must,
  refusal,
  within,
  anyFunction,
} from '../../core/schema/checks.ts'
import type { AnySchema } from '../../core/schema/derive-schema.ts'
import { validateCallOptions } from '../../core/schema/options.ts'
import { maxInnerDepth } from '../../core/schema/validate-session.ts'
import { defined, keysOf } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import { messageText, type MessagesInput } from '../../core/types/message.ts'
import type { Session } from '../../core/types/session.ts'
import type { NeedsJsonSchema } from '../../core/types/standard-schema.ts'
import type { Inside, ToolTypes } from '../../core/types/tool-types.ts'
import { waits } from '../calls/pending.ts'
import { engineAfter } from '../chat/answering-engine.ts'
import { engineParts } from '../model-call/context.ts'
import { innerEngine } from '../model-call/engine.ts'
import { checkOutput, outputSchema } from '../model-call/output.ts'
import { createSession } from '../session/create.ts'
import { waitingEvents } from '../session/inner.ts'
import { streamNext } from '../session/operations.ts'
import { tool, type ArgsOf, type WrittenFor } from '../tools/tool.ts'

/** The options of `agentTool`. */
export interface AgentToolOptions<
  Schema extends AnySchema = AnySchema,
  Name extends string = string,
  Inner extends ToolTypes = ToolTypes,
> {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: Name
  /** What the agent does and when to use it, written for the model. */
  readonly description: string
  /** What the agent runs on: its model, its tools, its instructions. */
  readonly engine: Engine<object, Inner>
  /** The schema of the arguments (`{ prompt: string }`). */
  readonly input?: (Schema & NeedsJsonSchema<Schema>) | undefined
  /** What the agent is told: a text, or messages. By default the `prompt` of the arguments, or with an `input` all of them as JSON. */
  readonly prompt?:
    | {
        bivarianceHack(args: ArgsOf<Schema>): MessagesInput | Promise<MessagesInput>
      }['bivarianceHack']
    | undefined
  /** Model calls that the agent may make, instead of what its engine says. */
  readonly maxTurns?: number | undefined
  /** The system text of the agent, instead of that of its engine. */
  readonly instructions?: Instructions | undefined
  /** A deadline for the whole inner run. Without it there is none. */
  readonly timeoutMs?: number | undefined
  /** Calls wait for approval before the agent starts. A function decides by the arguments. */
  readonly needsApproval?: ApprovalNeed<ArgsOf<Schema>> | undefined
  /** How deep this agent may be inside of others (4): 1 is an agent that is called by an outermost run. */
  readonly maxDepth?: number | undefined
}

const optionKeys = /* @__PURE__ */ keysOf<AgentToolOptions>({
  name: true,
  description: true,
  engine: true,
  input: true,
  prompt: true,
  maxTurns: true,
  instructions: true,
  timeoutMs: true,
  needsApproval: true,
  maxDepth: true,
})

/** How deep agents may be inside of one another unless they are told. */
const defaultMaxDepth = 4

const promptSchema = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'What the agent has to do.' } },
  required: ['prompt'],
  additionalProperties: false,
} as const

/**
 * A tool that is an agent: its calls run an engine of their own, with a loop, tools and a session of their own.
 *
 * The inner run is part of the outer one. Its events are `tool_progress` of the call, its usage is added, its questions and approvals rise
 * to the outer session with ids like `outer/inner`, and what is answered there comes back to it. A stop stops it. A run that was cut goes
 * on inside of it where it was, and no inner tool that is not idempotent runs twice. To wait for somebody it needs a session outside.
 *
 * The result is the inner output, or its text; an inner run that ended early gives `{ halted, text, result? }` with what a handler passed to `halt`, and one that failed is an error of the tool.
 */
export function agentTool<
  const Schema extends AnySchema = typeof promptSchema,
  Name extends string = string,
  Inner extends ToolTypes = ToolTypes,
>(options: AgentToolOptions<Schema, Name, Inner>): AgentTool<Schema, Name, Inner> {
  assertOptions('invalid_tool', options, optionKeys)
  const { name, description, engine, input, prompt, maxTurns, instructions } = options
  const { timeoutMs, needsApproval, maxDepth = defaultMaxDepth } = options
  engineParts(engine, 'engine of agentTool')
  assertValid(
    'invalid_tool',
    join(
      validateCallOptions(defined({ maxTurns, instructions })),
      join(
        within('maxDepth', depthLimit(maxDepth)),
        within('prompt', prompt === undefined ? [] : anyFunction(prompt)),
      ),
    ),
  )
  const promptOf = (args: JsonObject): MessagesInput | Promise<MessagesInput> => {
    // The arguments were checked against the schema that types them.
    if (prompt !== undefined) return prompt(args as ArgsOf<Schema>)
    const { prompt: text } = args
    return input === undefined && typeof text === 'string' ? text : JSON.stringify(args)
  }
  const made: Tool = tool<JsonObject>({
    name,
    description,
    schema: input ?? promptSchema,
    timeoutMs,
    // The same schema types the arguments of both.
    needsApproval: needsApproval as ApprovalNeed | undefined,
    handler: (args, given) =>
      runAgent({ name, promptOf, maxTurns, instructions, maxDepth, engine }, args, given),
  })
  const agent: Tool = Object.freeze({ ...made, agent: Object.freeze({ engine }) })
  // The options say what its name and its arguments are.
  return agent as AgentTool<Schema, Name, Inner>
}

/** The tool of an agent. Its result is what the inner run gives. The approvals and manual calls inside are those of the outer run too. */
type AgentTool<Schema, Name extends string, Inner extends ToolTypes> = Tool<
  JsonObject,
  object,
  ToolTypes<Name, WrittenFor<Schema>> | Inside<Inner>
> & { readonly name: Name }

const depthLimit = /* @__PURE__ */ must(`a whole number from 1 to ${maxInnerDepth}`, (value) => {
  return Number.isInteger(value) && between(1, maxInnerDepth)(value).length === 0
})

/** What the calls of an agent have in common. */
interface Agent {
  readonly name: string
  readonly engine: Engine
  readonly promptOf: (args: JsonObject) => MessagesInput | Promise<MessagesInput>
  readonly maxTurns: number | undefined
  readonly instructions: Instructions | undefined
  readonly maxDepth: number
}

/** Runs an agent from where it is: from its prompt, or from the session that an earlier run of the call has left. */
async function runAgent(agent: Agent, args: JsonObject, options: HandlerOptions): Promise<unknown> {
  const given = options as HandlerOptions & { readonly [agentChannel]?: AgentChannel }
  // An executor that passes on only what it knows leaves the agent alone.
  const channel = given[agentChannel] ?? alone(agent)
  const depth = channel.depth + 1
  if (depth > agent.maxDepth) {
    return fail(
      `the agent ${agent.name} would be inside of ${channel.depth} others, and its maxDepth is ${agent.maxDepth}: set maxDepth of agentTool, or let the agents call each other less deeply`,
    )
  }
  const session =
    channel.session ??
    withCallsBefore(
      createSession({
        // The same on every run of the call, and with it the idempotency keys of the inner calls.
        id: options.idempotencyKey,
        messages: await agent.promptOf(args),
      }),
      channel,
    )
  if (session.thread.messages.length === 0) {
    throw refusal('invalid_tool', 'prompt', 'must give a text or at least one message')
  }
  // A session that rests has its outcome: only the event that tells it is missing.
  if (session.status !== 'idle') {
    await channel.tell?.('session', [session])
    return outcomeOf(session, channel, options)
  }
  const { parentSpanId } = options.engine === undefined ? {} : engineParts(options.engine)
  const { metadata: outerMetadata } = channel
  const place = { depth, parentSpanId, outerMetadata, context: options.context }
  const engine = innerEngine(channel.engine, place)
  const stream = streamNext(engine, session, undefined, {
    signal: options.signal,
    maxTurns: agent.maxTurns,
    instructions: agent.instructions,
    // The outer run keeps all events, and hides what it was told to hide.
    emitTextDeltas: true,
    emitToolDeltas: true,
  })
  try {
    await channel.tell?.('session', [stream.session])
    // What was told is stored before the next batch is asked for, and only that starts inner handlers.
    for await (const batch of stream.batches()) await channel.tell?.('event', batch)
  } catch (error) {
    return failed(error)
  }
  return outcomeOf(stream.session, channel, options)
}

/** The session of an agent whose call was made before, and removed: what was settled then is not open again. */
function withCallsBefore(session: Session, { before }: AgentChannel): Session {
  return before === undefined ? session : { ...session, calls: before }
}

/** The way to the outer run of an agent that has none: it runs, and nobody can settle what it waits for. */
function alone({ engine }: Agent): AgentChannel {
  return { engine, depth: 0 }
}

/** What came of an inner run: its answer, what it waits for, or why it failed. It is read off the session, so it is the same after a crash. */
async function outcomeOf(
  session: Session,
  { engine, tell }: AgentChannel,
  { toolCall }: HandlerOptions,
): Promise<unknown> {
  const { status, error, haltedReason } = session
  if (waits(session)) {
    if (tell === undefined) return fail(cannotWait)
    const events = waitingEvents(session, `${toolCall.id}/`)
    const outcome: AgentOutcome = { [outcomeBrand]: true, type: 'agent_waits', status, events }
    return outcome
  }
  if (error !== undefined) return failed(errorFromJSON(error))
  const text = answerText(session)
  if (status !== 'completed') {
    return defined({ halted: haltedReason ?? 'cancelled', text, result: session.run?.haltResult })
  }
  const { defaults } = engineAfter(engine, session.thread.messages)
  const schema = outputSchema(defaults.responseFormat)
  if (schema === undefined) return text
  const answer = { outputText: text, finishReason: 'stop', metadata: {} } as const
  const checked = await checkOutput(schema, answer)
  return checked.error === undefined ? (checked.plain satisfies JsonValue) : failed(checked.error)
}

const cannotWait =
  'the agent waits for an answer, an approval or a result, and the toolExecutor of the engine passes on no way back to it: pass its options on as they are'

function failed(error: unknown): AgentOutcome {
  return { [outcomeBrand]: true, type: 'agent_failed', error }
}

/** The text of the last answer, after that of the answers in which the provider paused before it. An answer that said nothing is not in the thread. */
function answerText({ status, thread: { messages } }: Session): string {
  let at = messages.findLastIndex(({ role }) => role === 'assistant')
  if (status === 'completed' && at < messages.length - 1) return ''
  let text = ''
  for (let message = messages[at]; message?.role === 'assistant'; message = messages[--at]) {
    text = messageText(message) + text
    if (messages[at - 1]?.metadata?.['paused'] !== true) break
  }
  return text
}
