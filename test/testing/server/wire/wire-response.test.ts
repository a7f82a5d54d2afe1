import { describe, expect, test } from 'vitest'
import { renderWire, wireResponse } from '../../../../src/server.ts'
import { virtualClock, type Script } from '../../../../src/testing.ts'
import { instantClock, wireText } from './decode.ts'

const script: Script = [
  ['text', 'a'],
  ['delay', 1000],
  ['text', 'b'],
]

test('an answer is a response: its status, its headers and its bytes', async () => {
  const answer = renderWire('anthropic', script, { stream: true })
  const response = await wireResponse(answer, { clock: instantClock })

  expect(response.status).toBe(200)
  expect(response.headers.get('request-id')).toBe('req_fake1')
  expect(await response.text()).toBe(wireText('anthropic', script, { stream: true }))
})

test('waits go through the clock', async () => {
  const clock = virtualClock()
  const answer = renderWire('gemini', script, { stream: true })
  const reading = wireResponse(answer, { clock }).then((response) => response.text())

  expect(await reading).toContain('"b"')
  expect(clock.now()).toBeGreaterThanOrEqual(1000)
})

test('a connection that closes before a status fails the call', async () => {
  const answer = renderWire('openai_chat', [['preflight_error', 'network_error', {}]])
  await expect(wireResponse(answer)).rejects.toThrow('fetch failed')
})

test('a connection that closes in the middle fails the body, after what was sent', async () => {
  const cut: Script = [
    ['text_delta', 'a'],
    ['stream_error', 'truncated', {}],
  ]
  const { body } = await wireResponse(renderWire('openai_chat', cut, { stream: true }))
  let seen = ''
  const reading = (async () => {
    for await (const chunk of body ?? []) seen += Buffer.from(chunk).toString()
  })()

  await expect(reading).rejects.toThrow('terminated')
  expect(seen).toContain('"content":"a"')
})

describe('silence', () => {
  test('before a status it lasts until the signal is aborted', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const answer = renderWire('gemini', [['preflight_error', 'timeout', {}]])
    const call = wireResponse(answer, { signal })
    controller.abort(new Error('enough'))

    await expect(call).rejects.toThrow('enough')
  })

  test('in the middle it lasts until the signal is aborted', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const answer = renderWire(
      'gemini',
      [
        ['text', 'a'],
        ['error', 'timeout'],
      ],
      { stream: true },
    )
    const { body } = await wireResponse(answer, { signal })
    const reader = body?.getReader()
    await reader?.read()
    const waiting = reader?.read()
    controller.abort(new Error('enough'))

    await expect(waiting).rejects.toThrow('enough')
  })

  test('a body that is left ends it', async () => {
    const answer = renderWire(
      'gemini',
      [
        ['text', 'a'],
        ['error', 'timeout'],
      ],
      { stream: true },
    )
    const { body } = await wireResponse(answer)
    for await (const _ of body ?? []) break

    expect(body?.locked).toBe(false)
  })
})
