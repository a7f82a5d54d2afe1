import {
  askUser,
  createEngine,
  extendEngine,
  tool,
  type Engine,
  type EngineOptions,
  type Tool,
} from '../../../src/index.ts'
import { createRuns, type Runs, type RunsOptions } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'

/** An engine whose model answers by what the thread ends with, so that any process gives the same answers. */
export function scriptedEngine(
  answer: (lastText: string, results: number) => Script,
  options: Omit<EngineOptions, 'adapter'> = {},
): Engine {
  const adapter = fake({
    script: ({ messages }) => {
      const last = messages.findLastIndex(({ role }) => role === 'user')
      const { content } = messages[last] ?? { content: '' }
      const results = messages.slice(last).filter(({ role }) => role === 'tool').length
      return answer(typeof content === 'string' ? content : JSON.stringify(content), results)
    },
  })
  return createEngine({ adapter, ...options })
}

/** What the tools of `toolsOf` did. */
export type Effects = string[]

export function toolsOf(effects: Effects, isAlive: () => boolean = () => true): readonly Tool[] {
  const effect = (name: string, idempotent: boolean): Tool =>
    tool({
      name,
      description: name,
      schema: { type: 'object' },
      idempotent,
      handler: (_args, { toolCall }) => {
        if (isAlive()) effects.push(`${name}:${toolCall.id}`)
        return `${name} done`
      },
    })
  return [
    effect('charge', false),
    effect('note', true),
    tool({
      name: 'refund',
      description: 'Pays back.',
      schema: { type: 'object', properties: { euros: { type: 'number' } } },
      needsApproval: true,
      handler: (args) => {
        if (isAlive()) effects.push(`refund:${JSON.stringify(args)}`)
        return 'paid back'
      },
    }),
    tool({
      name: 'seat',
      description: 'Asks for a seat.',
      schema: { type: 'object' },
      handler: () => askUser('Which seat?', { choices: ['12A', '14C'] }),
    }),
    tool({
      name: 'inspect',
      description: 'The back office looks at it.',
      schema: { type: 'object' },
      manual: true,
    }),
  ]
}

/** Everything of a test on a clock that moves by itself. */
export interface Bench {
  readonly clock: VirtualClock
  readonly store: RunStore
  readonly runs: Runs
}

export function bench(
  engine: RunsOptions['engine'],
  options: Partial<Omit<RunsOptions, 'engine'>> = {},
  auto: boolean = true,
): Bench {
  const clock = (options.clock as VirtualClock | undefined) ?? virtualClock({ auto })
  const store = options.store ?? memoryStore({ clock })
  const timed = typeof engine === 'function' ? engine : extendEngine(engine, { clock })
  return { clock, store, runs: createRuns({ ...options, engine: timed, clock, store }) }
}

/** The events of a session that are in the log. */
export async function typesOf(runs: Runs, id: string, after?: number): Promise<string[]> {
  const types: string[] = []
  for await (const { event } of runs.follow(id, { after })) types.push(event.type)
  return types
}
