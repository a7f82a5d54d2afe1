import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'
import type Anthropic from '@anthropic-ai/sdk'
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'
import { GoogleGenAI } from '@google/genai'
import { OAuth2Client } from 'google-auth-library'
import { describe, expect, test } from 'vitest'
import { createFakeServer, type FakeServer, type FakeServerOptions } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { drain } from './drain.ts'
import { greeting, parallelCalls, thinking } from './scripts.ts'

type Messages = { readonly messages: Pick<Anthropic['messages'], 'create' | 'stream'> }

const place = { projectId: 'demo-project', region: 'us-east5' }

function authClient(): OAuth2Client {
  const client = new OAuth2Client()
  client.setCredentials({ access_token: 'ya29.token', expiry_date: Date.now() + 3_600_000 })
  return client
}

const clients: Readonly<Record<'vertex' | 'bedrock', (server: FakeServer) => Messages>> = {
  vertex: (server) =>
    new AnthropicVertex({
      ...place,
      baseURL: server.vertexBaseUrl,
      authClient: authClient(),
      maxRetries: 0,
    }),
  bedrock: (server) =>
    new AnthropicBedrock({
      awsRegion: 'us-east-1',
      awsAccessKey: 'AKIDEXAMPLE',
      awsSecretKey: 'secret',
      awsSessionToken: 'session',
      baseURL: server.bedrockBaseUrl,
      maxRetries: 0,
    }),
}

const paths = {
  vertex: ['rawPredict', 'streamRawPredict'].map(
    (method) =>
      `/v1/projects/demo-project/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:${method}`,
  ),
  bedrock: ['invoke', 'invoke-with-response-stream'].map(
    (method) => `/model/claude-sonnet-4-5@20250929/${method}`,
  ),
} as const

const ask = {
  model: 'claude-sonnet-4-5@20250929',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'hi' }],
}

describe.each(['vertex', 'bedrock'] as const)("Anthropic's package for %s", (platform) => {
  const started = (options: FakeServerOptions): Promise<FakeServer> => createFakeServer(options)

  /** The answer to a script, once as a body and once as a stream that the package folds. */
  async function bothWays(script: Script): Promise<readonly Anthropic.Message[]> {
    await using server = await started({ scripts: [script, script] })
    const answers = [
      await clients[platform](server).messages.create(ask),
      await clients[platform](server).messages.stream(ask).finalMessage(),
    ]
    expect(server.requests.map(({ path }) => path)).toEqual(paths[platform])
    for (const { headers, body } of server.requests) {
      expect(body).not.toHaveProperty('model')
      expect(JSON.stringify(headers)).not.toMatch(/ya29|Credential|session/)
    }
    return answers
  }

  test('text and usage arrive, streamed and not', async () => {
    for (const message of await bothWays(greeting)) {
      expect(message.content).toMatchObject([{ type: 'text', text: 'Hello, wörld 🦊' }])
      expect(message).toMatchObject({ role: 'assistant', stop_reason: 'end_turn' })
      expect(message.usage).toMatchObject({ input_tokens: 12, output_tokens: 12 })
    }
  })

  test('thinking and parallel calls arrive', async () => {
    for (const { content } of await bothWays(thinking({ signature: 'c2ln' }))) {
      expect(content.map(({ type }) => type)).toContain('thinking')
    }
    for (const { content } of await bothWays(parallelCalls)) {
      expect(content.filter(({ type }) => type === 'tool_use').length).toBeGreaterThan(1)
    }
  })

  test('a refusal is an error with the status and the message', async () => {
    await using server = await started({
      script: [['preflight_error', 'rate_limited', { message: 'slow down' }]],
    })
    await expect(clients[platform](server).messages.create(ask)).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining('slow down'),
    })
  })

  test('an error in the middle of a stream ends it', async () => {
    await using server = await started({
      script: [
        ['text', 'half'],
        ['failure', 'rate_limited', { message: 'too many' }],
      ],
    })
    const stream = clients[platform](server).messages.stream(ask)
    const seen: string[] = []
    stream.on('text', (text) => seen.push(text))
    await expect(stream.finalMessage()).rejects.toThrow('too many')
    expect(seen.join('')).toBe('half')
  })
})

describe("Google's package", () => {
  test.each([
    [
      'a project',
      { project: 'demo-project', location: 'us-central1' },
      '/v1beta1/projects/demo-project/locations/us-central1/publishers/google',
    ],
    ['an API key', { apiKey: 'express-key' }, '/v1beta1/publishers/google'],
  ] as const)(
    'is answered on Vertex AI with %s, streamed and not',
    async (_name, options, base) => {
      await using server = await createFakeServer({ scripts: [greeting, greeting] })
      const ai = new GoogleGenAI({
        vertexai: true,
        ...options,
        ...('project' in options ? { googleAuthOptions: { authClient: authClient() } } : {}),
        httpOptions: { baseUrl: server.url },
      })
      const request = { model: 'gemini-2.5-flash', contents: 'hi' }
      const whole = await ai.models.generateContent(request)
      const chunks = await drain(await ai.models.generateContentStream(request))
      expect(whole.text).toBe('Hello, wörld 🦊')
      expect(chunks.map(({ text }) => text ?? '').join('')).toBe('Hello, wörld 🦊')
      expect(server.requests.map(({ path }) => path)).toEqual([
        `${base}/models/gemini-2.5-flash:generateContent`,
        `${base}/models/gemini-2.5-flash:streamGenerateContent?alt=sse`,
      ])
    },
  )
})
