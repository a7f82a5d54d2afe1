import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { createFakeServer, createRecordingProxy, type FakeServer } from '../../../src/server.ts'

const body: JsonObject = {
  anthropic_version: 'any',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
}

const contents: JsonObject = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }

const paths = {
  vertex: '/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:rawPredict',
  bedrock: '/model/anthropic.claude-v1%3A0/invoke',
  gemini: '/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent',
  express: '/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent',
} as const

async function post(
  server: Pick<FakeServer, 'url'>,
  path: string,
  sent: JsonObject,
  headers: Readonly<Record<string, string>> = { authorization: 'Bearer secret-1' },
) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(sent),
  })
  const { status } = response
  return { status, headers: response.headers, text: await response.text() }
}

const started = (): Promise<FakeServer> =>
  createFakeServer({ script: [['text', 'ok']], repeat: true })

test.each([
  ['vertex', body],
  ['bedrock', body],
  ['gemini', contents],
  ['express', contents],
] as const)('%s is answered, and the request is recorded without its token', async (name, sent) => {
  await using server = await started()
  const headers = {
    authorization: 'AWS4-HMAC-SHA256 Credential=x',
    'x-amz-security-token': 'secret-2',
  }
  const bearer = { authorization: 'Bearer secret-1' }
  const { status, text } = await post(
    server,
    paths[name],
    sent,
    name === 'bedrock' ? headers : bearer,
  )
  expect([status, text.includes('ok')]).toEqual([200, true])
  expect(server.requests[0]).toMatchObject({ path: paths[name], body: sent, status: 200 })
  expect(JSON.stringify(server.requests)).not.toMatch(/Credential|secret/)
})

describe('what a platform would refuse is refused in its words', () => {
  test.each([
    ['vertex', { ...body, model: 'claude' }, 'model: Extra inputs are not permitted'],
    ['vertex', { ...body, anthropic_beta: ['x'] }, 'anthropic_beta: Extra inputs'],
    ['vertex', { ...body, cache_control: { type: 'ephemeral' } }, 'cache_control: Extra inputs'],
    ['vertex', { max_tokens: 1, messages: [] }, 'anthropic_version: Field required'],
    ['bedrock', { ...body, model: 'claude' }, 'model: Extra inputs are not permitted'],
    ['bedrock', { ...body, stream: false }, 'stream: Extra inputs are not permitted'],
    ['bedrock', { ...body, cache_control: { type: 'ephemeral' } }, 'cache_control: Extra inputs'],
    ['bedrock', { anthropic_version: 'x', messages: [] }, 'max_tokens: Field required'],
    ['bedrock', { ...body, temperature: 3 }, 'temperature: range: 0..1'],
    ['gemini', { ...contents, store: true }, 'Unknown name "store"'],
    ['gemini', { ...contents, model: 'x' }, 'Unknown name "model"'],
    ['gemini', { contents: [{ parts: [{ text: 'hi' }] }] }, 'valid role'],
    [
      'gemini',
      { ...contents, toolConfig: { includeServerSideToolInvocations: true } },
      'Unknown name "includeServerSideToolInvocations"',
    ],
  ] as const)('%s: %j', async (name, sent, words) => {
    await using server = await started()
    const { status, text } = await post(server, paths[name], sent)
    expect([status, text]).toEqual([
      400,
      expect.stringContaining(words.replaceAll('"', String.raw`\"`)),
    ])
    // AWS has no envelope, Google has its own, and Claude's refusals are Anthropic's.
    expect(Object.keys(JSON.parse(text) as object)).toEqual(
      name === 'bedrock'
        ? ['message']
        : name === 'vertex'
          ? ['type', 'error', 'request_id']
          : ['error'],
    )
  })

  test.each([
    ['vertex', 401, 'UNAUTHENTICATED'],
    ['bedrock', 401, 'message'],
    ['gemini', 401, 'UNAUTHENTICATED'],
  ] as const)('%s: a request without credentials', async (name, status, words) => {
    await using server = await started()
    expect(await post(server, paths[name], body, {})).toMatchObject({
      status,
      text: expect.stringContaining(words),
    })
  })

  test('another method, and a path that no platform has', async () => {
    await using server = await started()
    expect((await fetch(server.url + paths.bedrock)).status).toBe(405)
    expect((await fetch(server.url + paths.vertex)).status).toBe(405)
    expect((await post(server, '/model/x/converse', body)).status).toBe(404)
  })

  test('betas are parameters of the body on Bedrock and a header on Vertex AI', async () => {
    await using server = await started()
    const beta = { ...body, context_management: {} }
    const onBedrock = { ...beta, anthropic_beta: ['context-management-2025-06-27'] }
    expect((await post(server, paths.bedrock, beta)).status).toBe(400)
    expect((await post(server, paths.bedrock, onBedrock)).status).toBe(200)
    expect((await post(server, paths.vertex, beta)).status).toBe(400)
    const headers = { authorization: 'Bearer x', 'anthropic-beta': 'context-management-2025-06-27' }
    expect((await post(server, paths.vertex, beta, headers)).status).toBe(200)
  })
})

test.each(['vertex', 'bedrock', 'gemini'] as const)(
  'the recording proxy does not pass %s on: the token is not for the provider',
  async (name) => {
    await using server = await started()
    const notes: unknown[] = []
    const proxy = await createRecordingProxy({
      upstream: { anthropic: server.anthropicBaseUrl, gemini: server.geminiBaseUrl },
      onNote: (note) => notes.push(note),
    })
    try {
      expect((await post(proxy, paths[name], body)).status).toBe(404)
      expect(server.requests).toEqual([])
      expect(notes).toMatchObject([
        {
          type: 'refused',
          reason: expect.stringMatching(/nothing is passed on to (vertex|bedrock)/),
        },
      ])
    } finally {
      await proxy.close()
    }
  },
)
