import type { Engine } from '../contracts/engine.ts'
import type { Tool } from '../contracts/tool.ts'
import { ValidationError } from '../errors/errors.ts'
import type { CrashScenario } from './crash-scenario.ts'
import { createEngine } from '../run/engine.ts'
import { fake } from '../testing/fake.ts'
import { createScriptCursor } from '../testing/script-cursor.ts'
import { virtualClock } from '../testing/virtual-clock.ts'

/** One process's worth of a run: an engine, and the counts that the next life starts from. */
export interface Life {
  readonly engine: Engine
  readonly tools: readonly Tool[]
  /** Model calls that were completed, in this life and those before it. */
  completedCalls(): number
  /** A model call has begun, or has said its last word. */
  onCall(phase: 'began' | 'ended'): void
  /** Whether the model has more to say. */
  hasMore(): boolean
}

/** Starts a life in which the model goes on after so many completed calls. `ran` is told of every run of a handler. */
export function startLife(
  scenario: CrashScenario,
  completedBefore: number,
  ran: (tool: Tool, toolCallId: string) => void,
): Life {
  const tools = (scenario.tools ?? []).map((tool) => counted(tool, ran))
  const { scripts, engine } = scenario
  if (engine !== undefined) return realLife(engine(completedBefore), tools, completedBefore)
  if (scripts === undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'scripts', problem: 'are missing: give scripts, or an engine' },
    ])
  }
  const rest = scripts.slice(completedBefore)
  const scriptCursor = createScriptCursor()
  const adapter = fake({ scripts: rest, scriptCursor })
  let open = 0
  return {
    engine: createEngine({ adapter, tools, clock: virtualClock() }),
    tools,
    // A call that was cut is made again, the attempts that failed before it are not.
    completedCalls: () => completedBefore + scriptCursor.index - open,
    onCall: (phase) => {
      open = phase === 'began' ? 1 : 0
    },
    hasMore: () => scriptCursor.index < rest.length,
  }
}

function realLife(engine: Engine, tools: readonly Tool[], completedBefore: number): Life {
  let completed = completedBefore
  return {
    engine,
    tools,
    completedCalls: () => completed,
    onCall: (phase) => {
      if (phase === 'ended') completed++
    },
    hasMore: () => false,
  }
}

function counted(tool: Tool, ran: (tool: Tool, toolCallId: string) => void): Tool {
  const { handler } = tool
  if (handler === undefined) return tool
  return {
    ...tool,
    handler: (args, options) => {
      ran(tool, options.toolCall.id)
      return handler(args, options)
    },
  }
}
