import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { timeline, timelineChart } from '../../../src/apps/cli/run.ts'
import { createEngine, streamChat, tool, user } from '../../../src/index.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { allm, scratch } from './support.ts'

const script = [
  ['delay', 300],
  ['text', 'Hello '],
  ['delay', 50],
  ['text', 'world'],
  ['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }],
  ['usage', { inputTokens: 3, outputTokens: 2 }],
]

function file(value: unknown): string {
  const path = scratch('script.json')
  writeFileSync(path, JSON.stringify(value))
  return path
}

describe('allm-ts run', () => {
  test('prints what the model says, its calls, and how it ended', async () => {
    expect(await allm(['run', file(script)])).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'Hello world',
        '→ weather {"city":"Ghent"}',
        '  (tool_calls · 3 in, 2 out tokens · 350 ms)',
        '',
      ].join('\n'),
    })
  })

  test('reads stdin, and a list of lists as one call each', async () => {
    const input = JSON.stringify([[['text', 'one']], [['text', 'two']]])
    const { stdout } = await allm(['run', '-'], { input })
    expect(stdout).toBe('one\n  (stop · 0 ms)\ntwo\n  (stop · 0 ms)\n')
  })

  test('with --json, one response a line', async () => {
    const path = file({ scripts: [[['text', 'one']], [['text', 'two']]] })
    const { stdout } = await allm(['run', path, '--json'])
    const responses = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { outputText: string })
    expect(responses.map(({ outputText }) => outputText)).toEqual(['one', 'two'])
  })

  test('with --events, one readable line an event, with its time', async () => {
    const { stdout } = await allm(['run', file(script), '--events'])
    expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['300 ms', 'message_started', 'fake'],
      ['300 ms', 'text_delta', '"Hello "'],
      ['350 ms', 'text_delta', '"world"'],
      ['350 ms', 'text_completed', '"Hello world"'],
      ['350 ms', 'tool_call_started', 'weather c1'],
      ['350 ms', 'tool_call_completed', 'weather c1 {"city":"Ghent"}'],
      ['350 ms', 'message_completed', 'tool_calls · 3 in, 2 out tokens'],
      [''],
    ])
  })

  test('with --events --json, one event a line', async () => {
    const { stdout } = await allm(['run', file(script), '--events', '--json'])
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string })
    expect(events.map(({ type }) => type)).toEqual([
      'message_started',
      'text_delta',
      'text_delta',
      'text_completed',
      'tool_call_started',
      'tool_call_completed',
      'message_completed',
    ])
  })

  test('a script that fails in the middle is a failed run, and what came before is printed', async () => {
    const path = file([
      [
        ['text', 'half'],
        ['error', 'rate_limited'],
      ],
      [['text', 'never']],
    ])
    const { code, stdout, stderr } = await allm(['run', path])
    expect([code, stdout]).toEqual([1, 'half\n  (error · 0 ms)\n'])
    expect(stderr).toMatch(/^allm-ts: the script failed: fake: rate_limited: [^\n]+\n$/)
  })

  test('a script that fails before its first event is not tried again', async () => {
    const path = file([
      [['preflight_error', 'timeout', { message: 'too slow' }]],
      [['text', 'next']],
    ])
    const { code, stdout, stderr } = await allm(['run', path])
    expect([code, stdout, stderr]).toEqual([1, '', 'allm-ts: fake: timeout: too slow\n'])
  })

  test.each([
    ['[["txt", "x"]]', 'script[0] has the unknown tag "txt"'],
    ['{}', 'stdin has neither script nor scripts'],
    ['{', 'stdin is not a script: it is not JSON'],
    ['', 'stdin is not a script: it is empty'],
    ['"x"', 'must be a list of lists, not "x"'],
  ])('%s is refused in one line', async (input, message) => {
    const { code, stderr } = await allm(['run', '-'], { input })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^allm-ts: [^\n]+\n$/)
    expect(stderr).toContain(message)
  })
})

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
