import { expect, test } from 'vitest'
import { innerEvent } from '../../../src/core/types/events.ts'
import { agentTool, createEngine, messageText, tool, type Engine } from '../../../src/index.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'
import { desk, detailOf, forked, listed, logOf, type Desk } from './support.ts'

const looked: string[] = []

/** A researcher with an agent inside that looks something up, asks before it buys, and answers. */
function researcher(clock: VirtualClock): Engine {
  const inside = createEngine({
    adapter: fake({
      script: ({ messages }): Script => {
        const results = messages.filter(({ role }) => role === 'tool').map(messageText)
        const usage = ['usage', { inputTokens: 10, outputTokens: 1 }] as const
        const [next] = [
          ['tool_call', { id: 'i1', name: 'look', arguments: { at: 'belfry' } }] as const,
          ['tool_call', { id: 'i2', name: 'buy', arguments: { euros: 3 } }] as const,
          ['text', 'It is 91 metres high.'] as const,
        ].slice(results.length)
        return next === undefined ? [] : [['start', { model: 'inner-1' }], next, usage]
      },
    }),
    model: 'inner-1',
    tools: [
      tool({
        name: 'look',
        description: 'Looks.',
        schema: {},
        handler: () => {
          looked.push('look')
          return 'a tower'
        },
      }),
      tool({
        name: 'buy',
        description: 'Buys a plan.',
        schema: {},
        needsApproval: true,
        handler: () => {
          looked.push('buy')
          return 'bought'
        },
      }),
    ],
    clock,
  })
  const scripts: Script[] = [
    [
      ['start', { model: 'outer-1' }],
      ['tool_call', { id: 'a1', name: 'search', arguments: { prompt: 'the belfry' } }],
      ['usage', { inputTokens: 100, outputTokens: 10 }],
    ],
    [
      ['start', { model: 'outer-1' }],
      ['text', 'The belfry is 91 metres high.'],
      ['usage', { inputTokens: 100, outputTokens: 10 }],
    ],
  ]
  const script = ({ messages }: { readonly messages: readonly { role: string }[] }): Script =>
    scripts[messages.some(({ role }) => role === 'tool') ? 1 : 0] ?? []
  return createEngine({
    adapter: fake({ script }),
    model: 'outer-1',
    tools: [agentTool({ name: 'search', description: 'Searches.', engine: inside })],
    clock,
  })
}

async function searched(options: Parameters<typeof desk>[0] = {}): Promise<Desk> {
  const clock = virtualClock({ auto: true })
  const engine = researcher(clock)
  const own = desk({ clock, runsEngine: engine, engine, ...options })
  looked.length = 0
  await own.runs.send('trip', 'How high is the belfry?')
  await own.runs.wait('trip')
  await own.runs.approve('trip', 'a1/i2')
  await own.runs.wait('trip')
  expect(looked).toEqual(['look', 'buy'])
  looked.length = 0
  return own
}

test('the tokens, models and cost of a session are those of its agents, too', async () => {
  const own = await searched({
    prices: { 'outer-1': { input: 1, output: 1 }, 'fake/inner-1': { input: 10, output: 10 } },
  })
  const [item] = (await listed(own)).items
  expect(item).toMatchObject({
    usage: { inputTokens: 230, outputTokens: 23 },
    models: ['outer-1', 'inner-1'],
  })
  // 220 tokens outside, and 33 inside at ten times the price.
  expect(item?.cost).toBeCloseTo(0.00055, 10)
})

test('a fork at any event of an agent goes on from there, on the recorded answers and on the engine', async () => {
  const own = await searched()
  const { session, lastEventId } = await detailOf(own, 'trip')
  const last = 'The belfry is 91 metres high.'
  expect(session.thread.messages.at(-1)).toMatchObject({ content: last })
  for (let event = 0; event <= lastEventId; event++) {
    const id = await forked(own, 'trip', { event, changes: {}, engine: { type: 'recorded' } })
    const fork = await detailOf(own, id)
    expect([event, fork.session.status]).toEqual([event, 'completed'])
    expect([event, fork.session.thread.messages.at(-1)]).toMatchObject([event, { content: last }])
  }
  // No handler ran.
  expect(looked).toEqual([])
  const { entries } = await logOf(own, 'trip')
  const told = entries.find((entry) => {
    const inner = 'event' in entry ? innerEvent(entry.event) : undefined
    return inner?.type === 'tool_result_encoded' && inner.id === 'i1'
  })
  // The engine goes on inside of the agent: what it has looked up is there, and what it wants to buy waits for a person.
  const changes = {}
  const given = { changes, engine: { type: 'given' }, askBeforeTools: false } as const
  const id = await forked(own, 'trip', { event: told?.id ?? 0, ...given })
  const fork = await detailOf(own, id)
  expect(fork.session.pendingApprovals).toMatchObject([{ id: 'a1/i2', name: 'buy' }])
  expect(looked).toEqual([])
})
