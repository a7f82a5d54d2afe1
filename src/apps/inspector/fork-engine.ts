import type { Clock } from '../../core/base/clock.ts'
import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { CallDefaults, EngineOptions, EngineParts } from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { askUser, halt } from '../../core/messages/outcomes.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { assertNever, isObject } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { ToolSpec } from '../../core/types/request.ts'
import { engineAfter } from '../../engine/chat/answering-engine.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { createEngine, extendEngine } from '../../engine/model-call/engine.ts'
import { leaveToCaller } from '../../engine/tools/tool-run.ts'
import { foreignTool } from '../../engine/tools/tool.ts'
import { isFlat } from '../../testing/fakes/check-script.ts'
import { fake } from '../../testing/fakes/fake.ts'
import type { ScriptInput } from '../../testing/fakes/script.ts'
import { outcomeOf } from '../../testing/fakes/test-tools.ts'
import { replay } from '../../testing/recording/replay.ts'
import type { ForkRequest } from './api.ts'
import { toolsNamed } from './model-requests.ts'
import { cassetteAfter, type RecordedTool, type Recording } from './recording.ts'

/** What the engine of a fork is made from. */
export interface ForkParts {
  readonly request: ForkRequest
  /** What the log of the origin says. */
  readonly recording: Recording
  /** The last event that the fork shares with its origin. */
  readonly event: number
  /** The messages that the fork begins with: they say which engine goes on. */
  readonly messages: readonly Message[]
  /** The engine of the origin, if it is known: its settings and the schemas of its tools. */
  readonly known: Engine | undefined
  /** The engine that forks may really run on. */
  readonly given: Engine | undefined
  readonly clock: Clock
}

/**
 * The engine that a fork runs on. On a fake, and on recorded answers, no code of the application runs and nothing is sent: tools answer what
 * was recorded, and a call that was not recorded waits for somebody to answer it. A given engine runs as it is, and asks before each tool.
 */
export function forkEngine(parts: ForkParts): Engine {
  const { request, recording, event, given } = parts
  const { engine } = request
  switch (engine.type) {
    case 'fake':
      return playedEngine(parts, scriptedAdapter(engine.script), namesIn(engine.script))
    case 'recorded':
      return playedEngine(parts, replay(cassetteAfter(recording, event), { match: () => true }), [])
    case 'given':
      if (given === undefined) throw noEngine()
      return givenEngine(given, parts)
    default:
      return assertNever(engine)
  }
}

function noEngine(): ValidationError {
  const problem =
    'is given, and this inspector has no engine: start it with --engine, or pass engine to inspector()'
  return new ValidationError('invalid_options', [{ path: 'engine.type', problem }])
}

/** The given engine with the changes. It asks before each tool, and so do the agents inside and the engines that it hands over to. */
function givenEngine(given: Engine, { request, messages }: ForkParts): Engine {
  const { changes, askBeforeTools = true } = request
  const { model, instructions } = changes
  const answering = engineAfter(given, messages).defaults
  return everywhere(given, ({ defaults }) => ({
    ...(model === undefined || defaults !== answering ? {} : { model }),
    ...(instructions === undefined || defaults !== answering ? {} : { instructions }),
    ...(askBeforeTools ? { approve: () => 'ask' } : {}),
  }))
}

/** An engine with other options, and those that its tools lead to. */
function everywhere(engine: Engine, change: (engine: EngineParts) => EngineOptions): Engine {
  const parts = engineParts(engine)
  return extendEngine(engine, {
    ...change(parts),
    tools: parts.tools.flatMap((own) => {
      const { agent, handoff } = own
      if (agent === undefined && handoff === undefined) return []
      const led = handoff && { engine: () => everywhere(handoff.engine(), change) }
      const inside = agent && { agent: { engine: everywhere(agent.engine, change) } }
      return Object.assign({}, own, inside, led && { handoff: Object.assign({}, handoff, led) })
    }),
  })
}

/** A fake for one call or several. Its script is checked, and what is wrong with it is a typed error. */
function scriptedAdapter(script: JsonValue): ChatAdapter {
  // `fake` checks it.
  return isFlat(script)
    ? fake({ script: script as unknown as ScriptInput })
    : fake({ scripts: script as unknown as readonly ScriptInput[] })
}

/** The names of the tools that a script calls. */
function namesIn(script: JsonValue): readonly string[] {
  if (!Array.isArray(script)) return []
  const entries: readonly JsonValue[] = script
  const [tag, details] = entries
  const isCall = tag === 'tool_call' || tag === 'tool_call_delta'
  if (isCall && isObject(details) && typeof details['name'] === 'string') return [details['name']]
  return entries.flatMap(namesIn)
}

function playedEngine(
  parts: ForkParts,
  adapter: ChatAdapter,
  names: readonly string[],
  known = parts.known,
): Engine {
  const { recording, request, clock, messages } = parts
  const own = known && engineParts(known)
  const answering = parts.known && engineAfter(parts.known, messages)
  const { model, instructions } = answering?.defaults === own?.defaults ? request.changes : {}
  const recorded = [...recording.tools.values()]
  const asked = new Set(recorded.flatMap(({ call, isAsked }) => (isAsked ? [call.name] : [])))
  return createEngine({
    ...dataOf(own?.defaults ?? {}),
    ...(instructions === undefined ? {} : { instructions }),
    adapter,
    model: model ?? own?.model,
    tools: playedTools(recorded, own?.tools ?? [], names).map((played) => {
      const handoff = own?.tools.find(({ name }) => name === played.name)?.handoff
      if (handoff === undefined) return played
      const engine = (): Engine => playedEngine(parts, adapter, names, handoff.engine())
      return Object.assign({}, played, { handoff: Object.assign({}, handoff, { engine }) })
    }),
    // A call that is known asks if it asked then, any other one if its tool has asked before.
    approve: ({ id, name }) => {
      const isAsked = recording.tools.get(id)?.isAsked ?? asked.has(name)
      return isAsked ? 'ask' : 'run'
    },
    // What failed in the end fails at once.
    retry: false,
    context: own?.context ?? {},
    clock,
  } satisfies EngineOptions)
}

/** The settings of an engine without its hooks: no code of the application runs in such a fork, except what makes the instructions. */
function dataOf(defaults: CallDefaults): CallDefaults {
  const { instructions, responseFormat } = defaults
  const data = Object.entries(defaults).filter(([, value]) => typeof value !== 'function')
  return {
    ...Object.fromEntries(data),
    ...(instructions === undefined ? {} : { instructions }),
    ...(responseFormat === undefined ? {} : { responseFormat }),
  }
}

/** Tools that answer what was recorded. They have the schemas of the engine, as far as it is known. */
export function playedTools(
  recorded: readonly RecordedTool[],
  known: readonly ToolSpec[],
  names: readonly string[],
): readonly Tool[] {
  const called = new Set([...recorded.map(({ call }) => call.name), ...names])
  const others = toolsNamed([...called].filter((name) => !known.some((own) => own.name === name)))
  return [...known, ...others].map(({ name, description, schema }) =>
    leaveToCaller(
      foreignTool({
        name,
        description,
        schema,
        // To answer again what was recorded does no harm.
        idempotent: true,
        handler: (_args, { toolCall }) => answerOf(answerTo(toolCall, recorded)),
      }),
      (call) => answerTo(call, recorded) === undefined,
    ),
  )
}

/** What was answered to a call: to the one with its id, or else to one with the same name and arguments. */
function answerTo(call: ToolCall, recorded: readonly RecordedTool[]): RecordedTool | undefined {
  const answered = recorded.filter(
    (one) =>
      one.call.name === call.name && (one.message !== undefined || one.outcome !== undefined),
  )
  return (
    answered.find((one) => one.call.id === call.id) ??
    answered.find((one) => sameJson(one.call.arguments, call.arguments))
  )
}

/** What a handler returns so that the same comes of it. */
function answerOf(found: RecordedTool | undefined): unknown {
  const { outcome, message } = found ?? {}
  if (outcome?.type === 'ask_user') return askUser(outcome.question, outcome.options)
  const value = message === undefined ? null : outcomeOf(message)
  return outcome?.type === 'halt' ? halt(outcome.reason, value) : value
}
