import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import { moderationResult } from '../../../src/testing.ts'
import { hasOracles, loadOracle } from './wire/shared.ts'

function client(server: FakeServer, options: object = {}): OpenAI {
  return new OpenAI({ baseURL: server.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0, ...options })
}

const parts = [
  { type: 'text' as const, text: 'a kestrel' },
  { type: 'image_url' as const, image_url: { url: 'https://example.com/kestrel.png' } },
]

test('a text, texts and parts are judged from the script', async () => {
  await using server = await createFakeServer({
    moderation: [
      ['ok', [moderationResult('violence')]],
      ['ok', [moderationResult(), moderationResult('hate')]],
      ['ok', [moderationResult()]],
    ],
  })
  const { moderations } = client(server)
  const one = await moderations.create({ input: 'a kestrel' })
  expect(one.model).toBe('omni-moderation-latest')
  expect(one.results[0]).toMatchObject({
    flagged: true,
    categories: { violence: true, hate: false },
    category_scores: { violence: 1, hate: 0 },
    category_applied_input_types: { violence: ['text'], hate: ['text'] },
  })
  const two = await moderations.create({ input: ['a', 'b'] })
  expect(two.results.map(({ flagged }) => flagged)).toEqual([false, true])
  const whole = await moderations.create({ input: parts, model: 'omni-moderation-2024-09-26' })
  expect(whole.model).toBe('omni-moderation-2024-09-26')
  expect(whole.results[0]).toMatchObject({
    flagged: false,
    category_applied_input_types: { violence: ['text', 'image'], hate: ['text'] },
  })
})

test('without a script everything is clean', async () => {
  await using server = await createFakeServer()
  const { results } = await client(server).moderations.create({ input: ['a', 'b', 'c'] })
  expect(results.map(({ flagged }) => flagged)).toEqual([false, false, false])
})

test('an error of the script is a refusal, and a retry comes to the next entry', async () => {
  await using server = await createFakeServer({
    moderation: [
      ['error', { kind: 'adapter', reason: 'authentication_failed', message: 'no' }],
      ['retry_until_call', 2],
      ['ok', [moderationResult()]],
    ],
  })
  const { moderations } = client(server)
  await expect(moderations.create({ input: 'a' })).rejects.toMatchObject({ status: 401 })
  const patient = client(server, { maxRetries: 1 }).moderations
  expect((await patient.create({ input: 'a' })).results).toHaveLength(1)
  expect(server.requests.map(({ status }) => status)).toEqual([401, 429, 200])
})

describe('a request is refused', () => {
  test.each<[string, object, object]>([
    ['without input', {}, { code: 'missing_required_parameter', param: 'input' }],
    ['with a number', { input: 7 }, { code: 'invalid_type', param: 'input' }],
    ['with nothing', { input: [] }, { param: 'input' }],
    ['with two images', { input: [parts[1], parts[1]] }, { code: 'too_many_images' }],
    ['with an unknown part', { input: [{ type: 'audio' }] }, { param: 'input[0].type' }],
    ['with a part without text', { input: [{ type: 'text' }] }, { param: 'input[0].text' }],
    [
      'with an image without an address',
      { input: [{ type: 'image_url', image_url: {} }] },
      { param: 'input[0].image_url.url' },
    ],
    ['with an unknown parameter', { input: 'a', user: 'u' }, { code: 'unknown_parameter' }],
  ])('%s', async (_name, body, error) => {
    await using server = await createFakeServer()
    const response = await fetch(`${server.openaiBaseUrl}/moderations`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error })
  })
})

test.skipIf(!hasOracles)('what the server sends is legal by ../shared/oracles', async () => {
  const errorsOf = await loadOracle('default')
  const own = { flagged: true, categories: { mine: true }, scores: { mine: 0.5 } }
  await using server = await createFakeServer({
    moderation: [
      ['ok', [moderationResult('hate')]],
      ['ok', [own]],
    ],
  })
  for (const input of ['a', parts]) {
    const answer = await fetch(`${server.openaiBaseUrl}/moderations`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify({ input }),
    })
    expect(errorsOf('openai.moderations.response', await answer.json())).toEqual([])
  }
})
