import { readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import {
  createEngine,
  editImage,
  generate,
  Session,
  validateImageRequest,
  validateMessage,
  type Image,
  type Message,
} from '../../src/index.ts'
import { openai, openaiImages } from '../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../src/server.ts'

const wires: readonly [string, (server: FakeServer) => ReturnType<typeof openai>][] = [
  ['openai chat', (server) => openai({ api: 'chat', apiKey: 'k', baseUrl: server.openaiBaseUrl })],
  [
    'openai responses',
    (server) => openai({ api: 'responses', apiKey: 'k', baseUrl: server.openaiBaseUrl }),
  ],
  ['anthropic', (server) => anthropic({ apiKey: 'k', baseUrl: server.anthropicBaseUrl })],
  ['gemini', (server) => gemini({ apiKey: 'k', baseUrl: server.geminiBaseUrl })],
]

/** As it was saved by a version that read the file when the session was resumed. */
const saved = readFileSync(
  new URL('../fixtures/sessions/v1-image-file.json', import.meta.url),
  'utf8',
)

const stolen = { type: 'file', path: '/etc/passwd', mimeType: 'image/png' } as unknown as Image
const asking: Message = { role: 'user', content: [{ type: 'image', image: stolen }] }

describe.each(wires)('%s', (_name, adapterFor) => {
  test('a saved session does not make the library read a local file', async () => {
    const server = await createFakeServer({ script: [['text', 'I see no image.']] })
    try {
      const engine = createEngine({ adapter: adapterFor(server), model: 'some-model' })
      const { session } = await Session.resume(engine, Session.parse(saved))
      expect(session.status).toBe('completed')
      const sent = JSON.stringify(server.requests[0]?.body)
      expect(sent).toContain('[image of the file passwd, which was not read]')
      expect(sent).not.toContain(Buffer.from('root:').toString('base64').slice(0, 6))
    } finally {
      await server.close()
    }
  })

  test('a message that names a local file is refused, and nothing is sent', async () => {
    const server = await createFakeServer({ script: [['text', 'never']] })
    try {
      const adapter = adapterFor(server)
      const engine = createEngine({ adapter, model: 'some-model' })
      const problem = 'no value names a local path'
      await expect(generate(engine, [asking])).rejects.toThrow(problem)
      const request = {
        model: 'some-model',
        messages: [asking],
        tools: [],
        providerOptions: {},
        metadata: {},
      }
      await expect(adapter.generate?.(request)).rejects.toThrow(problem)
      expect(server.requests).toEqual([])
    } finally {
      await server.close()
    }
  })

  test('the address of an image is sent to the provider and not fetched here', async () => {
    const server = await createFakeServer({ script: [['text', 'A cat.']] })
    const fetched = vi.spyOn(globalThis, 'fetch')
    try {
      const engine = createEngine({ adapter: adapterFor(server), model: 'some-model' })
      const url = 'http://169.254.169.254/latest/meta-data/'
      await generate(engine, [
        { role: 'user', content: [{ type: 'image', image: { type: 'url', url } }] },
      ])
      expect(fetched.mock.calls.map(([address]) => address)).toEqual([
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
      ])
    } finally {
      fetched.mockRestore()
      await server.close()
    }
  })
})

test('a message, a session and an image request that name a local file are refused', async () => {
  expect(validateMessage(asking)[0]?.problem).toContain('no value names a local path')
  const session = { ...Session.create({ id: 's' }), thread: { messages: [asking], metadata: {} } }
  expect(() => Session.stringify(session)).toThrow('no value names a local path')
  const edit = {
    operation: 'edit',
    prompt: 'a hat',
    n: 1,
    responseFormat: 'base64',
    inputImages: [stolen],
    providerOptions: {},
    metadata: {},
  }
  expect(validateImageRequest(edit)[0]?.problem).toContain('no value names a local path')
  const imageAdapter = openaiImages({
    apiKey: 'k',
    fetch: () => Promise.reject(new Error('nothing is sent')),
  })
  const engine = createEngine({ imageAdapter, imageModel: 'gpt-image-1' })
  await expect(editImage(engine, stolen, 'a hat')).rejects.toThrow('no value names a local path')
})
