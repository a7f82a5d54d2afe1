import OpenAI, { AzureOpenAI } from 'openai'
import { describe, expect, test } from 'vitest'
import { createEngine, generate } from '../../../src/index.ts'
import { azure, type AzureOptions } from '../../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'

const messages = [{ role: 'user' as const, content: 'hi' }]

describe('the AzureOpenAI client of the official package', () => {
  const client = (server: FakeServer): AzureOpenAI =>
    new AzureOpenAI({
      endpoint: server.url,
      apiKey: 'azure-key',
      apiVersion: '2024-10-21',
      maxRetries: 0,
    })

  test('gets Chat Completions of a deployment, whole and streamed', async () => {
    await using server = await createFakeServer({ script: ['Hello.'], repeat: true })
    const whole = await client(server).chat.completions.create({ model: 'my bot', messages })
    expect(whole).toMatchObject({ model: 'my bot', choices: [{ message: { content: 'Hello.' } }] })
    const stream = client(server).chat.completions.stream({ model: 'my-bot', messages })
    expect(await stream.finalContent()).toBe('Hello.')
    expect(server.requests.map(({ path, format, status }) => [path, format, status])).toEqual([
      ['/openai/deployments/my%20bot/chat/completions?api-version=2024-10-21', 'openai_chat', 200],
      ['/openai/deployments/my-bot/chat/completions?api-version=2024-10-21', 'openai_chat', 200],
    ])
    expect(JSON.stringify(server.requests)).not.toContain('azure-key')
  })

  test('gets Responses', async () => {
    await using server = await createFakeServer({ script: ['Hello.'] })
    const answer = await client(server).responses.create({ model: 'my-bot', input: 'hi' })
    expect(answer.output_text).toBe('Hello.')
  })
})

test("the OpenAI client takes the address of Azure's version 1 API", async () => {
  await using server = await createFakeServer({ script: ['Hello.'], repeat: true })
  const client = new OpenAI({ baseURL: server.azureBaseUrl, apiKey: 'k', maxRetries: 0 })
  const chat = await client.chat.completions.create({ model: 'my-bot', messages })
  expect(chat.choices[0]?.message.content).toBe('Hello.')
  const response = await client.responses.create({ model: 'my-bot', input: 'hi' })
  expect(response.output_text).toBe('Hello.')
  expect((await client.models.list()).data.length).toBeGreaterThan(0)
})

describe('the azure adapter', () => {
  const settings = { resource: 'acme', deployment: 'my-bot', apiKey: 'azure-key' } as const
  /** An engine whose calls to Azure go to the server instead. */
  const engineAt = (server: FakeServer, options: Partial<AzureOptions>) =>
    createEngine({
      adapter: azure({
        ...settings,
        ...options,
        fetch: (url, init) => {
          const { pathname, search } = new URL(url)
          return fetch(server.url + pathname + search, init)
        },
      }),
    })

  test.each([
    [{}, '/openai/v1/chat/completions', 'openai_chat'],
    [{ family: 'gpt-5' }, '/openai/v1/responses', 'openai_responses'],
    [
      { apiVersion: '2024-10-21' },
      '/openai/deployments/my-bot/chat/completions?api-version=2024-10-21',
      'openai_chat',
    ],
  ])('reaches it at the address that %o makes', async (options, path, format) => {
    await using server = await createFakeServer({ script: ['Hello.'] })
    expect((await generate(engineAt(server, options), 'hi')).outputText).toBe('Hello.')
    expect(server.requests).toMatchObject([{ path, format, status: 200 }])
  })

  test('takes its base URL', async () => {
    await using server = await createFakeServer({ script: ['Hello.'] })
    const adapter = azure({ ...settings, baseUrl: server.azureBaseUrl })
    expect((await generate(createEngine({ adapter }), 'hi')).outputText).toBe('Hello.')
  })
})

test('a call needs a key, and an older path needs its version and its deployment', async () => {
  await using server = await createFakeServer({ script: ['Hello.'], repeat: true })
  const post = async (path: string, headers: Record<string, string>): Promise<number> => {
    const body = JSON.stringify({ messages })
    return (await fetch(server.url + path, { method: 'POST', headers, body })).status
  }
  const key = { 'api-key': 'k' }
  const path = '/openai/deployments/d/chat/completions'
  expect(await post(`${path}?api-version=2024-10-21`, key)).toBe(200)
  expect(await post(`${path}?api-version=2024-10-21`, {})).toBe(401)
  expect(await post(path, key)).toBe(404)
  expect(await post('/openai/chat/completions?api-version=2024-10-21', key)).toBe(404)
  expect(await post('/openai/deployments/d/responses?api-version=2024-10-21', key)).toBe(404)
  expect(await post('/openai/v1/messages', key)).toBe(404)
})
