import {
  agentTool,
  askUser,
  createEngine,
  extendEngine,
  fail,
  halt,
  handoff,
  messageText,
  tool,
  type AgentToolOptions,
  type ApprovePolicy,
  type Engine,
  type EngineOptions,
  type JsonObject,
  type Message,
  type ModelRequest,
  type Session,
  type StreamEvent,
  type Tool,
  type Usage,
} from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'

/** What a model does: the calls of each of its answers, and then its last words. A plan travels as the text of the user. */
export interface Plan {
  readonly steps: readonly (readonly PlannedCall[])[]
  readonly say?: string
  /** The model fails instead of its last words. */
  readonly fails?: true
}

export interface PlannedCall {
  readonly id: string
  readonly name: string
  readonly arguments?: object
}

export const call = (id: string, name: string, args: object = {}): PlannedCall => ({
  id,
  name,
  arguments: args,
})

/** A call of an agent that does what a plan says. */
export const agentCall = (id: string, plan: Plan, name = 'agent'): PlannedCall =>
  call(id, name, plan)

/** An engine whose model follows the plan in the first message of the user. Any process gives the same answers. Every answer costs 2 and 1. */
export function plannedEngine(options: Omit<EngineOptions, 'adapter'> = {}): Engine {
  return createEngine({ adapter: fake({ script: played }), ...options })
}

function played({ messages }: ModelRequest): Script {
  const { steps, say = 'done', fails } = planIn(messages)
  const made = messages.filter(({ toolCalls }) => toolCalls !== undefined).length
  const used: Script[number] = ['usage', { inputTokens: 2, outputTokens: 1, totalTokens: 3 }]
  const calls = steps[made]
  if (calls !== undefined) {
    return [
      ['text', `step ${made}`],
      ...calls.map(({ id, name, arguments: args = {} }): Script[number] => [
        'tool_call',
        { id, name, arguments: args as JsonObject },
      ]),
      used,
      ['finish', 'tool_calls'],
    ]
  }
  if (fails === true) return [['text', 'I am'], used, ['error', 'provider_unavailable']]
  return [['text', say.slice(0, 2)], ['text', say.slice(2)], used, ['finish', 'stop']]
}

function planIn(messages: readonly Message[]): Plan {
  const first = messages.find(({ role }) => role === 'user')
  // Tests write the plans themselves.
  return JSON.parse(first === undefined ? '{"steps":[]}' : messageText(first)) as Plan
}

/** The words of the user that carry a plan. */
export const words = (plan: Plan): string => JSON.stringify(plan)

/** What the tools did, each with the path of its call. */
export type Effects = string[]

/** The tools of agents: with effects, asking, waiting for approval, manual, failing, halting. */
export function effectTools(effects: Effects): readonly Tool[] {
  const simple = (name: string, extra: Partial<Tool> = {}): Tool => ({
    ...tool({
      name,
      description: name,
      schema: { type: 'object' },
      handler: (args, { idempotencyKey }) => {
        effects.push(`${name} ${idempotencyKey} ${JSON.stringify(args)}`)
        return `${name} did ${JSON.stringify(args)}`
      },
    }),
    ...extra,
  })
  return [
    simple('charge'),
    simple('note', { idempotent: true }),
    {
      ...simple('pay', { needsApproval: true }),
      schema: { type: 'object', properties: { euros: { type: 'number' } } },
    },
    tool({
      name: 'ask',
      description: 'Asks.',
      schema: { type: 'object' },
      handler: ({ q }: JsonObject) => askUser(typeof q === 'string' ? q : 'Which?'),
    }),
    tool({
      name: 'confirm',
      description: 'Asks, and acts on the answer.',
      schema: { type: 'object' },
      handler: (_args, { answer, idempotencyKey }) => {
        if (answer === undefined) return askUser('Sure?', { resume: true })
        effects.push(`confirm ${idempotencyKey} ${JSON.stringify(answer)}`)
        return `confirmed: ${JSON.stringify(answer)}`
      },
    }),
    tool({ name: 'office', description: 'Manual.', schema: { type: 'object' }, manual: true }),
    tool({
      name: 'broken',
      description: 'Fails.',
      schema: { type: 'object' },
      handler: () => fail('no luck'),
    }),
    tool({
      name: 'quit',
      description: 'Halts.',
      schema: { type: 'object' },
      handler: () => halt('enough', 'that was it'),
    }),
  ]
}

const planSchema = { type: 'object', properties: { steps: { type: 'array' } } } as const

/** An agent tool whose arguments are the plan of its model. */
export function planned(
  engine: Engine,
  options: Partial<AgentToolOptions<typeof planSchema>> = {},
): Tool {
  return agentTool({
    name: 'agent',
    description: 'Follows a plan.',
    engine,
    input: planSchema,
    ...options,
  })
}

/**
 * Three engines inside of one another, each with all tools: `outer` has the agent `agent`, which has an agent `agent`, which has none. By
 * `over` each hands over to another engine of its kind, which goes on with the plan, and hands back by `over`.
 */
export function nested(
  effects: Effects = [],
  options: Omit<EngineOptions, 'adapter'> = {},
): { readonly outer: Engine; readonly agent: Tool; readonly tools: readonly Tool[] } {
  const tools = effectTools(effects)
  const inmost = twin(plannedEngine({ ...options, tools }))
  const middle = twin(extendEngine(inmost, { tools: [planned(inmost)] }))
  const agent = planned(middle)
  return { outer: twin(extendEngine(middle, { tools: [agent] })), agent, tools }
}

/** The engine with a tool that hands over to its twin. */
function twin(engine: Engine): Engine {
  const made: Engine = extendEngine(engine, { tools: [handoff(() => other, { name: 'over' })] })
  const other: Engine = extendEngine(engine, { tools: [handoff(() => made, { name: 'over' })] })
  return made
}

/** A policy by which somebody has to approve every agent. */
export const askForAgents: ApprovePolicy = ({ name }) => (name === 'agent' ? 'ask' : 'run')

/** How many answers a usage is of. */
export const answersOf = ({ inputTokens = 0 }: Usage): number => inputTokens / 2

/** The events of a run and of the agents in it, each with the path of the call that it is inside of. */
export function flat(
  events: readonly StreamEvent[],
  path = '',
): readonly (readonly [string, StreamEvent])[] {
  return events.flatMap((event) => {
    if (event.type !== 'tool_progress' || event.inner !== 'event') return [[path, event] as const]
    const inner = event.data as unknown as StreamEvent // As the library made it.
    return flat([inner], `${path}${event.id}/`)
  })
}

/** The contents of a thread, for comparison. */
export const contents = ({ thread }: Session): readonly string[] =>
  thread.messages.map((message) => `${message.role}: ${messageText(message)}`)

/** Settles whatever a session waits for, one thing at a time. */
export function settleOne(
  session: Session,
):
  | { readonly reply: string }
  | { readonly approvals: Record<string, true | { deny: string } | { arguments: JsonObject }> }
  | { readonly toolResults: readonly { toolCallId: string; content: string }[] } {
  const { pendingQuestion, pendingToolCallId = '', pendingApprovals, pendingToolCalls } = session
  if (pendingQuestion !== undefined) return { reply: `the answer for ${pendingToolCallId}` }
  const [approval] = pendingApprovals
  if (approval !== undefined) {
    const { euros } = approval.arguments
    const decision =
      euros === 0 ? { deny: 'too little' } : euros === 1 ? { arguments: { euros: 2 } } : true
    return { approvals: { [approval.id]: decision } }
  }
  return {
    toolResults: pendingToolCalls.map(({ id }) => ({ toolCallId: id, content: `by hand: ${id}` })),
  }
}
