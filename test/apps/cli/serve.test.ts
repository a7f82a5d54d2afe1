import { writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { gemini } from '../../../src/gemini.ts'
import { createEngine, generate, user } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { allm, scratch, start } from './support.ts'

const script = [
  ['text', 'served'],
  ['finish', 'stop'],
]

test('serves a script to all three providers until Ctrl-C, then says how many requests came', async () => {
  const path = scratch('script.json')
  writeFileSync(path, JSON.stringify(script))
  const serving = start(['serve', path, '--port', '0', '--repeat'])
  await vi.waitUntil(serving.hearsCtrlC, { interval: 5, timeout: 60_000 })
  const [, url = ''] = /serving 1 script on (\S+), until/.exec(serving.stdout()) ?? []
  const adapters = [
    openai({ baseUrl: `${url}/v1`, apiKey: 'any' }),
    anthropic({ baseUrl: `${url}/v1`, apiKey: 'any' }),
    gemini({ baseUrl: `${url}/v1beta`, apiKey: 'any' }),
  ]
  for (const adapter of adapters) {
    const { outputText } = await generate(createEngine({ adapter, model: 'any' }), [user('hi')])
    expect(outputText).toBe('served')
  }
  serving.pressCtrlC()
  const { code, stdout, stderr } = await serving.ended
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/OpenAI +http.+\/v1\n/)
  expect(stdout).toMatch(/3 requests\n$/)
})

test('a file may hold other options of the server; those of the command line go before them', async () => {
  const path = scratch('script.json')
  writeFileSync(path, JSON.stringify({ script, port: 1, requireKey: false, models: ['mine'] }))
  const serving = start(['serve', path, '--port', '0'])
  await vi.waitUntil(serving.hearsCtrlC, { interval: 5, timeout: 60_000 })
  const [, url = ''] = /serving 1 script on (\S+), until/.exec(serving.stdout()) ?? []
  const models = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] }
  expect(models.data.map(({ id }) => id)).toEqual(['mine'])
  serving.pressCtrlC()
  expect((await serving.ended).code).toBe(0)
})

test('a port that is taken is one line that says what to do', async () => {
  const path = scratch('script.json')
  writeFileSync(path, JSON.stringify(script))
  const first = start(['serve', path, '--port', '0'])
  await vi.waitUntil(first.hearsCtrlC, { interval: 5, timeout: 60_000 })
  const [, port = ''] = /:(\d+), until/.exec(first.stdout()) ?? []
  const { code, stderr } = await allm(['serve', path, '--port', port])
  expect([code, stderr]).toEqual([
    1,
    `allm-ts: port ${port} is in use; pass another with --port, or 0 for a free one\n`,
  ])
  first.pressCtrlC()
  await first.ended
})

test.each([
  [['--port', 'high'], 2, '--port must be a whole number from 0 to 65535, not high'],
  [['--port', '0', '--host', '203.0.113.9'], 2, 'cannot listen on 203.0.113.9'],
])('%j is refused', async (options, expected, message) => {
  const path = scratch('script.json')
  writeFileSync(path, JSON.stringify(script))
  const { code, stderr } = await allm(['serve', path, ...options])
  expect(code).toBe(expected)
  expect(stderr).toContain(message)
})

test('an option that the server does not know is refused by name', async () => {
  const path = scratch('script.json')
  writeFileSync(path, JSON.stringify({ script, repaet: true }))
  const { code, stderr } = await allm(['serve', path, '--port', '0'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/^allm-ts: [^\n]*unknown key repaet; did you mean repeat\?\n$/)
})
