import { expect, test } from 'vitest'
import { createFakeServer, type FakeServerOptions } from '../../../src/server.ts'

test.each<[string, object, string]>([
  ['an unknown option', { scirpt: [] }, 'did you mean script'],
  ['both script and scripts', { script: [], scripts: [] }, 'script and scripts are both given'],
  ['an unknown entry', { script: [['txt', 'a']] }, 'unknown tag "txt"'],
  ['an image script that is not legal', { images: [['ko', []]] }, 'unknown tag "ko"'],
  ['a cursor that there is not', { cursor: 'mine' }, 'cursor'],
  ['a rate beyond 1', { failures: { seed: 1, rate429: 2 } }, 'failures.rate429'],
  ['a fault that succeeds', { faults: [null, { status: 200 }] }, 'faults[1].status'],
  ['a port beyond the last', { port: 70_000 }, 'port'],
])('%s is refused by name', async (_, options, message) => {
  await expect(createFakeServer(options as FakeServerOptions)).rejects.toThrow(message)
})

test('all options but the clock survive JSON', async () => {
  const options: FakeServerOptions = {
    scripts: [[['text', 'a']]],
    images: [['ok', []]],
    cursor: 'per_key',
    requireKey: false,
    validateRequests: false,
    models: ['m', { id: 'n', inputTokenLimit: 8192 }],
    repeat: true,
    chunking: { seed: 1, maxBytes: 5 },
    failures: { seed: 1, rate429: 0.1 },
    faults: [null, { status: 500 }],
    host: '127.0.0.1',
    port: 0,
    requestLimit: 5,
  }
  await using server = await createFakeServer(JSON.parse(JSON.stringify(options)))

  expect(server.openaiBaseUrl).toBe(`${server.url}/v1`)
  expect(server.anthropicBaseUrl).toBe(`${server.url}/v1`)
  expect(server.geminiBaseUrl).toBe(`${server.url}/v1beta`)
})

test('a model that is listed needs an id, and limits that are positive', async () => {
  const models = [{ inputTokenLimit: 0 }] as unknown as FakeServerOptions['models']
  const refused = createFakeServer({ models })

  await expect(refused).rejects.toThrow('models[0].id')
  await expect(refused).rejects.toThrow('models[0].inputTokenLimit')
})

test('requests are not checked with validateRequests: false', async () => {
  await using server = await createFakeServer({ script: [['text', 'a']], validateRequests: false })
  const response = await fetch(`${server.anthropicBaseUrl}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'k' },
    body: '{}',
  })

  expect(response.status).toBe(200)
})
