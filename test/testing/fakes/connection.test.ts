import { expect, test } from 'vitest'
import { createFakeServer } from '../../../src/server.ts'
import { collectEvents, fake, validateScript } from '../../../src/testing.ts'
import { scriptedConnection, type Script } from '../../../src/testing/fakes/script.ts'

const request = { messages: [], tools: [], providerOptions: {}, metadata: {} }

test('what a script says about its connection is read', () => {
  expect(scriptedConnection([['text', 'Hello']])).toEqual({
    headersFirst: false,
    truncatedBy: 'reset',
    staysOpen: false,
    location: undefined,
  })
  const scripts: readonly Script[] = [
    [['headers'], ['delay', 5]],
    [['stream_error', 'truncated', { by: 'end' }]],
    [['finish', 'stop', { open: true }]],
    [['error_event', 'rate_limited', { open: true }]],
    [['preflight_error', 'unknown', { status: 307, location: '/there' }]],
  ]
  expect(scripts.map((script) => Object.values(scriptedConnection(script)))).toEqual([
    [true, 'reset', false, undefined],
    [false, 'end', false, undefined],
    [false, 'reset', true, undefined],
    [false, 'reset', true, undefined],
    [false, 'reset', false, '/there'],
  ])
})

test.each<[unknown[], string]>([
  [['stream_error', 'truncated', { by: 'chance' }], 'by'],
  [['finish', 'stop', { open: 'yes' }], 'open'],
  [['preflight_error', 'unknown', { location: 7 }], 'location'],
])('%j is refused', (entry, field) => {
  expect(() => validateScript({ script: [entry] })).toThrow(field)
})

test('headers come first', () => {
  expect(() => validateScript({ script: [['text', 'a'], ['headers']] })).toThrow(/must come first/)
})

test('a fake has no connection, and no trace of it in its errors', async () => {
  const script: Script = [
    ['text_delta', 'so far'],
    ['stream_error', 'truncated', { by: 'end', note: 'kept' }],
  ]
  const events = (await collectEvents(fake({ script }).stream(request))).flat()
  const last = events.at(-1)
  expect(last?.type === 'error' && last.error.metadata).toEqual({ note: 'kept' })
})

test('the server redirects, and keeps a connection open after the end', async () => {
  await using server = await createFakeServer({
    scripts: [
      [['preflight_error', 'unknown', { status: 307, location: '/there' }]],
      [
        ['text', 'Hello'],
        ['finish', 'stop', { open: true }],
      ],
    ],
    requireKey: false,
    validateRequests: false,
  })
  const ask = (): Promise<Response> =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      redirect: 'manual',
      body: JSON.stringify({
        model: 'm',
        stream: true,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    })
  const redirect = await ask()
  expect([redirect.status, redirect.headers.get('location')]).toEqual([307, '/there'])
  const response = await ask()
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('[DONE]')) text += decoder.decode((await reader?.read())?.value)
  expect(server.openAnswers).toBe(1)
  await reader?.cancel()
  await server.idle()
  expect(server.openAnswers).toBe(0)
})
