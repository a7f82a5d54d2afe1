import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { pacer } from '../../../src/apps/cli/tour.ts'
import { Session } from '../../../src/index.ts'
import { createFakeServer } from '../../../src/server.ts'
import { virtualClock, type Script } from '../../../src/testing.ts'
import { root } from '../../support/root.ts'
import { allm, hastyClock, scratch } from './support.ts'

describe('on the Fake', () => {
  test('the tour prints what the README shows, and exits 0', async () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    const [, shown] = /^```text\n(allm-ts tour[^]*?)^```$/m.exec(readme) ?? []
    const { code, stdout, stderr } = await allm(['tour'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toBe(shown)
  })

  test('the same every time, and no file is left behind', async () => {
    const folder = dirname(scratch('x'))
    vi.stubEnv('TMPDIR', folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(tmpdir()).toBe(folder)
    expect(await allm(['tour'])).toEqual(await allm(['tour']))
    expect(readdirSync(folder)).toEqual([])
  })

  test('--session keeps the finished session', async () => {
    const path = scratch('mine.json')
    expect((await allm(['tour', '--session', path])).code).toBe(0)
    expect(Session.parse(readFileSync(path, 'utf8'))).toMatchObject({
      id: 'tour',
      status: 'completed',
    })
  })
})

const scripts: readonly Script[] = [
  [['text', 'Because.']],
  [
    ['tool_call', { id: 'call-1', name: 'weather', arguments: { city: 'Ghent', day: 'Saturday' } }],
    ['tool_call', { id: 'call-2', name: 'free_hours', arguments: { day: 'Saturday' } }],
  ],
  [
    [
      'tool_call',
      { id: 'call-3', name: 'ask_person', arguments: { question: 'When?', choices: ['now'] } },
    ],
  ],
  [...Array.from('abcdefghij', (letter) => ['text', letter] as const), ['finish', 'stop']],
  [['text', 'The plan.']],
]

describe('with a real provider', () => {
  test.each([
    ['openai', 'OPENAI_API_KEY', 'openaiBaseUrl'],
    ['anthropic', 'ANTHROPIC_API_KEY', 'anthropicBaseUrl'],
    ['gemini', 'GEMINI_API_KEY', 'geminiBaseUrl'],
  ] as const)('%s: the same tour, over the wire', async (provider, variable, url) => {
    await using server = await createFakeServer({ scripts })
    const argv = ['tour', '--provider', provider, '--model', 'm', '--base-url', server[url]]
    const { code, stdout, stderr } = await allm(argv, {
      env: { [variable]: 'a-key-of-no-shape' },
      clock: hastyClock,
    })
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`allm-ts tour on ${provider} m\n`)
    expect(stdout).toContain('model  abcdefgh…\n')
    expect(stdout).toContain('model  The plan.\n')
    expect(stdout).toContain('(completed: 8 messages, 3 tool calls, 3 tool runs)')
    expect(stdout).not.toContain('a-key-of-no-shape')
    server.assertDone()
  })

  test('a model that does not do as it is told is not a failure', async () => {
    await using server = await createFakeServer({ script: [['text', 'No.']], repeat: true })
    const argv = [
      'tour',
      '--provider',
      'openai',
      '--model',
      'm',
      '--base-url',
      server.openaiBaseUrl,
    ]
    const { code, stdout } = await allm(argv, { env: { OPENAI_API_KEY: 'any' }, clock: hastyClock })
    expect(code).toBe(0)
    expect(stdout).toContain('(the model did not ask; it is told to continue)')
  })
})

test('what happened on a virtual clock is shown with the waits between', async () => {
  const clock = virtualClock()
  const seen: unknown[] = []
  const output = new PassThrough()
  output.on('data', (chunk) => seen.push(String(chunk)))
  const show = pacer(output, clock, async (ms) => seen.push(ms))
  show.write('a')
  await clock.sleep(300)
  show.write('b')
  show.write('c')
  expect(seen).toEqual([])
  await show.flush()
  await clock.sleep(50)
  show.write('d')
  await show.flush()
  expect(seen).toEqual(['a', 300, 'b', 'c', 50, 'd'])
})

test('without waits everything is written at once', () => {
  const output = new PassThrough()
  pacer(output, virtualClock()).write('now')
  expect(String(output.read())).toBe('now')
})
