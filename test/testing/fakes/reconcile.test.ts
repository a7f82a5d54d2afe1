import { describe, expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  messageText,
  tool,
  type Engine,
  type ReconcileAnswer,
  type Tool,
} from '../../../src/index.ts'
import {
  crashAtEveryEvent,
  fake,
  virtualClock,
  type CrashReport,
  type CrashScenario,
  type Script,
  type VirtualClock,
} from '../../../src/testing.ts'

/** Rehearsals of tools that act at a service which keeps a ledger, by the keys of the calls. */

/** A service: what it did for each key, and what it answered. It refuses no key, so that a second effect shows. */
interface Service {
  readonly ledger: Map<string, { readonly receipt: string; times: number }>
  act(key: string, what: string): string
}

function service(): Service {
  const ledger: Service['ledger'] = new Map()
  return {
    ledger,
    act(key, what) {
      const known = ledger.get(key)
      if (known !== undefined) known.times++
      else ledger.set(key, { receipt: `receipt for ${what}`, times: 1 })
      return `receipt for ${what}`
    },
  }
}

/** When the effect of a handler happens: at once, or after a while, with or without work after it. */
type Pace = readonly [beforeMs: number, afterMs: number]

interface Bench {
  readonly service: Service
  readonly clock: VirtualClock
}

function payTool(
  { service: at, clock }: Bench,
  [beforeMs, afterMs]: Pace,
  more: object = {},
): Tool {
  return tool({
    name: 'pay',
    description: 'pays',
    schema: { type: 'object', properties: { to: { type: 'string' } } },
    ...more,
    handler: async ({ to = '' }, { idempotencyKey }) => {
      // This one is still under way when the others have ended, and a cut does not stop it.
      const factor = to === 'eve' ? 100 : 1
      if (beforeMs > 0) await clock.sleep(beforeMs * factor)
      const receipt = at.act(idempotencyKey, to)
      if (afterMs > 0) await clock.sleep(afterMs)
      return receipt
    },
    reconcile: async (_call, { idempotencyKey }): Promise<ReconcileAnswer> => {
      await clock.sleep(1)
      const known = at.ledger.get(idempotencyKey)
      return known === undefined ? 'not_done' : { done: known.receipt }
    },
  })
}

const call = (id: string, name: string, args: Record<string, string> = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: args },
]

/** Rehearses with a new service for each run, and a model that must never read that a call was interrupted. */
async function rehearse(
  scripts: readonly Script[],
  toolsOf: (bench: Bench) => readonly Tool[],
  expected: readonly string[],
  scenario: Partial<CrashScenario> = {},
): Promise<CrashReport> {
  const clock = virtualClock()
  let at: Service | undefined
  const checkLedger = (): void => {
    if (at === undefined) return
    const effects = [...at.ledger.values()]
    expect(effects.map(({ receipt }) => receipt).toSorted()).toEqual(expected)
    expect(effects.map(({ times }) => times)).toEqual(expected.map(() => 1))
  }
  const engine = (completedCalls: number): Engine => {
    const script = fake({ scripts: scripts.slice(completedCalls) })
    const tools = toolsOf({ service: at ?? service(), clock })
    return createEngine({
      adapter: script,
      tools,
      clock,
      prepareStep: ({ messages }) => {
        for (const message of messages) {
          expect(messageText(message)).not.toContain('may have taken effect')
        }
        return {}
      },
    })
  }
  const report = await crashAtEveryEvent({
    messages: 'go',
    engine,
    before: () => {
      checkLedger()
      at = service()
    },
    ...scenario,
  })
  checkLedger()
  return report
}

const paces: readonly (readonly [string, Pace])[] = [
  ['at once', [0, 0]],
  ['at once, with work after it', [0, 20]],
  ['after a while', [20, 0]],
  ['in the middle', [20, 20]],
]

describe.each(paces)('a tool that acts %s', (_what, pace) => {
  test('acts once for each call at every cut, and the model never reads that it was interrupted', async () => {
    const report = await rehearse(
      [[call('c1', 'pay', { to: 'ada' })], [call('c2', 'pay', { to: 'bob' })], [['text', 'done']]],
      (bench) => [payTool(bench, pace)],
      ['receipt for ada', 'receipt for bob'],
    )
    expect(report).toMatchObject({ status: 'completed', toolRuns: { pay: 2 } })
  })

  test('does so beside others in one answer, and where a call waited for approval', async () => {
    const report = await rehearse(
      [
        [
          call('c1', 'pay', { to: 'ada' }),
          call('c2', 'pay', { to: 'bob' }),
          call('c3', 'pay', { to: 'eve' }),
        ],
        [['text', 'done']],
      ],
      (bench) => [
        payTool(bench, pace, {
          needsApproval: (args: object) => JSON.stringify(args).includes('bob'),
        }),
      ],
      ['receipt for ada', 'receipt for bob', 'receipt for eve'],
      { onSuspend: () => ({ approvals: { c2: true } }) },
    )
    expect(report).toMatchObject({ status: 'completed', toolRuns: { pay: 3 } })
  })

  test('does so inside of an agent', async () => {
    const inner = [[call('i1', 'pay', { to: 'ada' })], [['text', 'inner']]] as const
    const report = await rehearse(
      [[call('c1', 'agent', { prompt: 'go' })], [['text', 'done']]],
      (bench) => [
        agentTool({
          name: 'agent',
          description: 'works',
          engine: createEngine({
            adapter: fake({
              script: ({ messages }) =>
                inner[messages.filter(({ role }) => role === 'assistant').length] ?? [],
            }),
            tools: [payTool(bench, pace)],
            clock: bench.clock,
          }),
        }),
      ],
      ['receipt for ada'],
    )
    expect(report.status).toBe('completed')
  })
})

test('a tool that asks first and acts with the answer acts once', async () => {
  const book = ({ service: at, clock }: Bench): Tool =>
    tool({
      name: 'book',
      description: 'books',
      schema: { type: 'object' },
      handler: async (_args, { answer, idempotencyKey }) => {
        if (answer === undefined) return askUser('Which seat?', { resume: true })
        await clock.sleep(5)
        return at.act(idempotencyKey, JSON.stringify(answer))
      },
      reconcile: (_call, { idempotencyKey }) => {
        const known = at.ledger.get(idempotencyKey)
        return known === undefined ? 'not_done' : { done: known.receipt }
      },
    })
  await rehearse(
    [[call('c1', 'book')], [['text', 'done']]],
    (bench) => [book(bench)],
    ['receipt for "12A"'],
    { onSuspend: () => ({ reply: '12A' }) },
  )
})

describe('a rehearsal', () => {
  const scripts: readonly Script[] = [[call('c1', 'pay', { to: 'ada' })], [['text', 'done']]]
  const one = (reconcile: Tool['reconcile']): Promise<CrashReport> => {
    const clock = virtualClock()
    const made = payTool({ service: service(), clock }, [0, 0])
    const { reconcile: _own, ...rest } = made
    return crashAtEveryEvent({
      messages: 'go',
      scripts,
      clock,
      tools: [reconcile === undefined ? rest : { ...rest, reconcile }],
    })
  }

  test('diverges where reconcile gives another result than the handler', async () => {
    await expect(one(() => ({ done: 'another receipt' }))).rejects.toThrow(/diverges: message 2/)
  })

  test.each<[string, Tool['reconcile']]>([
    ['knows nothing', () => 'unknown'],
    [
      'fails',
      () => {
        throw new Error('no route')
      },
    ],
  ])('takes a call as interrupted whose reconcile %s', async (_what, reconcile) => {
    expect(await one(reconcile)).toMatchObject({ status: 'completed', toolRuns: { pay: 1 } })
  })

  test('lets a handler run again that reconcile says has had no effect, and only then', async () => {
    const runs: string[] = []
    const clock = virtualClock()
    const scenario = (reconcile: Tool['reconcile']): CrashScenario => ({
      messages: 'go',
      clock,
      scripts,
      before: () => void runs.push('|'),
      tools: [
        {
          ...tool({
            name: 'pay',
            description: 'pays',
            schema: { type: 'object' },
            handler: () => void runs.push('ran'),
          }),
          ...(reconcile === undefined ? {} : { reconcile }),
        },
      ],
    })
    await crashAtEveryEvent(scenario(() => 'not_done'))
    expect(runs.join('')).toContain('|ranran|')
    runs.length = 0
    await crashAtEveryEvent(scenario(undefined))
    expect(runs.join('')).not.toContain('ranran')
  })
})
