import { describe, expect, test } from 'vitest'
import { createFakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { call } from './client.ts'

const silent: Script = [
  ['text', 'a'],
  ['error', 'timeout'],
]

test('closing ends a stream that is silent', async () => {
  const server = await createFakeServer({ script: silent })
  const { body } = await call(server, 'anthropic', { stream: true })
  const reader = body?.getReader()
  await reader?.read()
  await server.close()

  await expect(reader?.read()).rejects.toThrow('terminated')
})

test('closing ends a stream that waits', async () => {
  const server = await createFakeServer({
    script: [
      ['text', 'a'],
      ['delay', 3_600_000],
    ],
  })
  const { body } = await call(server, 'gemini', { stream: true })
  const reader = body?.getReader()
  await reader?.read()
  await server.close()

  await expect(reader?.read()).rejects.toThrow('terminated')
})

test('closing ends a call that has no answer yet', async () => {
  const server = await createFakeServer({ script: [['preflight_error', 'timeout', {}]] })
  const waiting = call(server, 'openai_chat').catch((error: unknown) => error)
  while (server.requests.length === 0) await new Promise(setImmediate)
  await server.close()

  expect(await waiting).toBeInstanceOf(TypeError)
})

test('closing twice is closing once, and the port is free', async () => {
  const server = await createFakeServer({ script: [['text', 'a']] })
  await call(server, 'gemini')
  await Promise.all([server.close(), server.close()])

  await using again = await createFakeServer({ port: server.port })
  expect(again.port).toBe(server.port)
})

test('a port that is taken rejects', async () => {
  await using server = await createFakeServer()
  await expect(createFakeServer({ port: server.port })).rejects.toThrow('EADDRINUSE')
})

test('many answers at once are no leak', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  await using server = await createFakeServer({ script: silent, repeat: true })
  const controller = new AbortController()
  const { signal } = controller
  const calls = Array.from({ length: 30 }, () =>
    call(server, 'openai_chat', { stream: true, signal }),
  )
  await Promise.all(calls)
  expect(server.openAnswers).toBe(30)
  controller.abort()
  await server.idle()
  process.off('warning', onWarning)

  expect(warnings.filter(({ message }) => message.includes('AbortSignal'))).toEqual([])
})

test('a server that listens on all addresses is called on the nearest', async () => {
  await using server = await createFakeServer({ host: '0.0.0.0', script: [['text', 'a']] })

  expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
  expect((await call(server, 'gemini')).status).toBe(200)
})

describe('a client that leaves', () => {
  test('is seen: the answer is over', async () => {
    await using server = await createFakeServer({ script: silent })
    const controller = new AbortController()
    const { body } = await call(server, 'openai_chat', { stream: true, signal: controller.signal })
    const reader = body?.getReader()
    await reader?.read()
    expect(server.openAnswers).toBe(1)
    controller.abort()
    await server.idle()

    expect(server.openAnswers).toBe(0)
  })

  test('before the answer is seen as well', async () => {
    await using server = await createFakeServer({ script: [['preflight_error', 'timeout', {}]] })
    const controller = new AbortController()
    const waiting = call(server, 'gemini', { signal: controller.signal }).catch(() => 'left')
    while (server.openAnswers === 0) await new Promise(setImmediate)
    controller.abort()
    await server.idle()

    expect(await waiting).toBe('left')
  })
})

test('pieces of chosen size arrive with the same bytes', async () => {
  const script: Script = [['text', 'wörld 🦊']]
  await using whole = await createFakeServer({ script })
  await using cut = await createFakeServer({ script, chunking: { seed: 1, maxBytes: 7 } })
  const [left, right] = await Promise.all(
    [whole, cut].map(async (server) =>
      (await call(server, 'openai_responses', { stream: true })).text(),
    ),
  )

  expect(right).toBe(left)
})

test('delays are kept between the bytes', async () => {
  const seen: number[] = []
  await using server = await createFakeServer({
    script: [
      ['delay', 5],
      ['text', 'a'],
      ['delay', 7],
      ['text', 'b'],
      ['delay', 9],
    ],
    clock: { now: () => 0, sleep: async (ms) => void seen.push(ms) },
  })
  await (await call(server, 'anthropic', { stream: true })).text()

  expect(seen).toEqual([5, 7, 9])
})
