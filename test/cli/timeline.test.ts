import { expect, test } from 'vitest'
import { timeline, timelineChart } from '../../src/cli/run.ts'
import { createEngine, streamChat, tool, user } from '../../src/index.ts'
import { fake, virtualClock } from '../../src/testing.ts'

test('a chart shows what happened when, and how long it took', async () => {
  const clock = virtualClock({ start: 1000 })
  const log = timeline(clock)
  const adapter = fake({
    scripts: [
      [
        ['delay', 100],
        ['tool_call', { id: 'a', name: 'slow', arguments: {} }],
        ['tool_call', { id: 'b', name: 'quick', arguments: {} }],
      ],
      [
        ['delay', 100],
        ['text', 'a'],
        ['delay', 100],
        ['text', 'b'],
      ],
    ],
  })
  const sleeper = (name: string, ms: number) =>
    tool({ name, description: name, schema: { type: 'object' }, handler: () => clock.sleep(ms) })
  const tools = [sleeper('slow', 200), sleeper('quick', 100)]
  for await (const event of streamChat(createEngine({ adapter, clock, tools }), [user('go')])) {
    log.note(event)
  }
  log.mark('file', 'is saved')
  expect(timelineChart(log.rows, 10)).toEqual([
    'model calls slow, quick   0 ms +100 ms  ░░◆',
    'tool  quick             100 ms +100 ms    ██',
    'tool  slow              100 ms +200 ms    ████',
    'model answers           300 ms +200 ms        ░░██',
    'file  is saved          500 ms   +0 ms            ◆',
  ])
})

test('a run that is left, and one that fails, are rows too', async () => {
  const clock = virtualClock()
  const log = timeline(clock)
  const scripts = [
    [
      ['text', 'a'],
      ['delay', 5],
    ],
    [
      ['delay', 5],
      ['text', 'b'],
      ['error', 'x'],
    ],
  ] as const
  const engine = createEngine({ adapter: fake({ scripts }), clock })
  for await (const event of streamChat(engine, [user('go')])) {
    log.note(event)
    if (event.type === 'text_delta') break
  }
  log.cut('is stopped')
  log.begin()
  for await (const event of streamChat(engine, [user('go')])) log.note(event)
  expect(log.rows.map(({ label }) => label)).toEqual(['is stopped', 'fails'])
})
