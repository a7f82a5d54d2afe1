import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { gemini } from '../../../src/gemini.ts'
import { collect, modelRequest, type Message } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { createFakeServer } from '../../../src/server.ts'
import { wireFormats } from '../../../src/testing/server/wire-format.ts'
import { call, smallest } from './client.ts'

describe('the record', () => {
  test('has every request, with its body and the status of its answer', async () => {
    await using server = await createFakeServer({ script: [['text', 'a']] })
    await call(server, 'anthropic')
    await call(server, 'openai_chat', { body: { temperature: 'hot' } })

    expect(server.requests).toMatchObject([
      {
        number: 1,
        method: 'POST',
        path: '/v1/messages',
        format: 'anthropic',
        body: smallest.anthropic,
        headers: { 'anthropic-version': '2023-06-01' },
        status: 200,
      },
      { number: 2, format: 'openai_chat', status: 400 },
    ])
  })

  test('is there before the answer arrives', async () => {
    await using server = await createFakeServer({ script: [['text', 'a']] })
    const { status } = await call(server, 'gemini')

    expect(server.requests.map((request) => request.status)).toEqual([status])
  })

  test('has no key, wherever the client put it', async () => {
    await using server = await createFakeServer({ scripts: [] })
    for (const format of wireFormats) await call(server, format, { key: 'very-secret' })
    await fetch(`${server.geminiBaseUrl}/models?key=very-secret&pageSize=5`)

    expect(JSON.stringify(server.requests)).not.toContain('very-secret')
    expect(server.requests.at(-1)?.path).toBe('/v1beta/models?pageSize=5')
  })

  test('keeps the last requests when there are many', async () => {
    await using server = await createFakeServer({ requestLimit: 2 })
    for (let i = 0; i < 7; i++) await fetch(`${server.url}/v1/models`)

    expect(server.requests.length).toBeLessThanOrEqual(4)
    expect(server.requests.at(-1)?.number).toBe(7)
  })
})

describe('keys', () => {
  test.each([
    ['openai_chat', 'invalid_api_key'],
    ['openai_responses', 'invalid_api_key'],
    ['anthropic', 'authentication_error'],
    ['gemini', 'UNAUTHENTICATED'],
  ] as const)('%s without one is refused with 401', async (format, word) => {
    await using server = await createFakeServer({ script: [['text', 'a']] })
    await call(server, format)
    const response = await fetch(server.url + (server.requests[0]?.path ?? ''), {
      method: 'POST',
      headers: { 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(smallest[format]),
    })

    expect(response.status).toBe(401)
    expect(await response.text()).toContain(word)
  })

  test('are not required with requireKey: false', async () => {
    await using server = await createFakeServer({ script: [['text', 'a']], requireKey: false })
    const response = await fetch(`${server.openaiBaseUrl}/responses`, {
      method: 'POST',
      body: JSON.stringify(smallest.openai_responses),
    })

    expect(response.status).toBe(200)
  })
})

describe('addresses', () => {
  test.each([
    ['POST', '/v1/nothing', {}, 404, 'invalid_request_error'],
    ['POST', '/v1/nothing', { 'anthropic-version': 'x' }, 404, 'not_found_error'],
    ['POST', '/v1beta/nothing', {}, 404, 'NOT_FOUND'],
    ['GET', '/v1/chat/completions', {}, 405, 'invalid_request_error'],
    ['DELETE', '/v1/models', {}, 405, 'invalid_request_error'],
  ])(
    '%s %s is refused in the shape of its provider',
    async (method, path, headers, status, word) => {
      await using server = await createFakeServer()
      const response = await fetch(server.url + path, { method, headers })

      expect(response.status).toBe(status)
      expect(await response.text()).toContain(word)
    },
  )

  test('the models are listed in the format of the provider', async () => {
    await using server = await createFakeServer({ models: ['m'] })
    const list = async (path: string, headers: Record<string, string>): Promise<unknown> =>
      (await fetch(server.url + path, { headers })).json()

    expect(await list('/v1/models', { authorization: 'Bearer k' })).toMatchObject({
      object: 'list',
      data: [{ id: 'm', object: 'model' }],
    })
    expect(await list('/v1/models', { 'x-api-key': 'k' })).toMatchObject({
      data: [{ id: 'm', type: 'model' }],
      has_more: false,
    })
    expect(await list('/v1beta/models', { 'x-goog-api-key': 'k' })).toMatchObject({
      models: [{ name: 'models/m' }],
    })
  })
})

test('Anthropic requires its version header', async () => {
  await using server = await createFakeServer({ script: [['text', 'a']] })
  const response = await fetch(`${server.anthropicBaseUrl}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'k' },
    body: JSON.stringify(smallest.anthropic),
  })

  expect(response.status).toBe(400)
  expect(await response.text()).toContain('anthropic-version: header is required')
})

describe('the largest request', () => {
  test.each([
    ['openai_chat', 67],
    ['anthropic', 30],
    ['gemini', 95],
  ] as const)('%s takes the largest file that its adapter sends', async (format, megabytes) => {
    await using server = await createFakeServer({ script: ['a'], validateRequests: false })
    const response = await call(server, format, { body: { file: 'A'.repeat(megabytes << 20) } })
    expect(response.status).toBe(200)
  })

  test('the adapters refuse a file that would be larger, and send nothing', async () => {
    await using server = await createFakeServer({ script: ['a'] })
    const adapters = {
      openai: openai({ model: 'gpt-5-mini', apiKey: 'k', baseUrl: server.openaiBaseUrl }),
      anthropic: anthropic({ model: 'claude-x', apiKey: 'k', baseUrl: server.anthropicBaseUrl }),
      gemini: gemini({ model: 'gemini-3', apiKey: 'k', baseUrl: server.geminiBaseUrl }),
    }
    for (const [name, bytes, mimeType] of [
      ['openai', 50 * 1024 * 1024, 'application/pdf'],
      ['anthropic', 24_000_000, 'application/pdf'],
      ['gemini', 50_000_000, 'application/pdf'],
      ['gemini', 75_000_000, 'audio/mpeg'],
    ] as const) {
      const base64 = 'A'.repeat(Math.ceil(bytes / 3) * 4 + 4)
      const part = { type: 'file', file: { type: 'base64', base64, mimeType } } as const
      const message: Message = { role: 'user', content: [part] }
      const request = { ...modelRequest([]), messages: [message] }
      const asked = collect(adapters[name].stream(request))
      await expect(asked).rejects.toThrow(`${name} accepts at most ${bytes}`)
    }
    expect(server.requests).toEqual([])
  })
})

test('a request that is too large is refused', async () => {
  await using server = await createFakeServer({ script: [['text', 'a']] })
  const response = await call(server, 'anthropic', { body: { system: 'x'.repeat(33 << 20) } })

  expect(response.status).toBe(413)
  expect(await response.json()).toMatchObject({ error: { type: 'request_too_large' } })
})

test.each(wireFormats)('%s: a body that is not JSON is refused', async (format) => {
  await using server = await createFakeServer({ script: [['text', 'a']] })
  await call(server, format)
  const { path = '' } = server.requests[0] ?? {}
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'anthropic-version': 'x' },
    body: '{"model":',
  })

  expect(response.status).toBe(400)
  expect(await response.json()).toHaveProperty('error.message')
})
