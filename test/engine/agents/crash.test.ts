import { expect, test } from 'vitest'
import { crashAtEveryEvent, type Script } from '../../../src/testing.ts'
import { agentCall, call, nested, settleOne, type Effects, type PlannedCall } from './support.ts'

const done: Script = [
  ['text', 'all done'],
  ['usage', { inputTokens: 3 }],
  ['finish', 'stop'],
]

const calls = (...list: readonly PlannedCall[]): Script => [
  ...list.map(({ id, name, arguments: args = {} }): Script[number] => [
    'tool_call',
    { id, name, arguments: args as Record<string, never> },
  ]),
  ['finish', 'tool_calls'],
]

const rehearsed = (...steps: readonly Script[]): ReturnType<typeof crashAtEveryEvent> => {
  const effects: Effects = []
  const { agent, tools } = nested(effects)
  return crashAtEveryEvent({
    scripts: [...steps, done],
    messages: '{"steps":[]}',
    tools: [agent, ...tools],
    onSuspend: settleOne,
    allowToolErrors: true,
    endsIn: 'completed',
  })
}

test.each<[string, PlannedCall]>([
  ['waits for approval', agentCall('c1', { steps: [[call('x', 'pay', { euros: 1 })]] })],
  [
    'has an agent that asks',
    agentCall('c1', { steps: [[agentCall('d', { steps: [[call('x', 'ask')]] })]] }),
  ],
])('an agent that %s survives a crash at every event', async (_title, planned) => {
  const report = await rehearsed(calls(planned))
  expect(report.status).toBe('completed')
  expect(report.toolRuns['agent']).toBeGreaterThan(0)
})

test('three agents side by side, of which one asks, one fails and one acts, survive a crash at every event', async () => {
  const report = await rehearsed(
    calls(
      agentCall('c1', { steps: [[call('x', 'ask')]] }),
      agentCall('c2', { steps: [], fails: true }),
      agentCall('c3', { steps: [[call('x', 'charge')]] }),
    ),
  )
  expect(report.toolRuns).toMatchObject({ agent: 4, ask: 1, charge: 1 })
})
