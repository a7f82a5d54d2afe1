import { describe, expect, test } from 'vitest'
import { applyViewEvent } from '../../../src/durable/client/apply-view-event.ts'
import { SessionError, toView } from '../../../src/index.ts'
import { createRuns, type HandlerOptions } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { virtualClock } from '../../../src/testing.ts'
import {
  messagesOf,
  sentEvents,
  service,
  serviceEngine,
  ticketOf,
  viewOf,
  type SentEvent,
} from './service.ts'

const problemOf = async (response: Response): Promise<[number, unknown]> => {
  const { reason } = (await response.json()) as { reason: unknown }
  return [response.status, reason]
}

const types = (events: readonly SentEvent[]): readonly (string | undefined)[] =>
  events.map(({ data }) => data?.type)

/** The state that the events give. */
const nextOf = async (events: AsyncGenerator<SentEvent, void>): Promise<SentEvent | undefined> => {
  for (;;) {
    const { done, value } = await events.next()
    if (done === true) return undefined
    if (value.data !== undefined) return value
  }
}

describe('the routes', () => {
  test('a message makes a session, whose view and events can be read', async () => {
    const { post, get, runs } = service()
    const sent = await post('ada/messages', { text: 'hello' })
    expect(sent.status).toBe(202)
    expect(await sent.json()).toEqual({ lastEventId: 0, duplicate: false })
    await runs.wait('ada')
    const view = await get('ada')
    expect(view.headers.get('cache-control')).toBe('no-store')
    expect(await viewOf(view)).toMatchObject({
      status: 'completed',
      running: false,
      messages: [
        { id: 'm0', role: 'user', text: 'hello' },
        { id: 'm1', role: 'assistant', text: 'Hello, Ada.' },
      ],
    })
    const log = await messagesOf(await get('ada/events?after=0'))
    expect(types(log).slice(0, 3)).toEqual(['view', 'message_started', 'text_delta'])
    expect(types(log).slice(-2)).toEqual(['chat_completed', 'rest'])
    const numbers = log.slice(0, -1).map(({ id }) => Number(id))
    expect(numbers).toEqual(numbers.map((_number, at) => at))
  })

  test('a call is approved with other arguments, and denied', async () => {
    const { post, get, runs } = service()
    await post('ada/messages', { text: 'pay 3' })
    await runs.wait('ada')
    expect(await viewOf(await get('ada'))).toMatchObject({
      status: 'awaiting_approval',
      pendingApprovals: [{ id: 'c2', name: 'pay', arguments: { euros: 3 } }],
    })
    const ticket = await ticketOf(get('ada'), 'c2')
    const approval = { approve: true, arguments: { euros: 2 }, ticket }
    expect((await post('ada/approvals/c2', { ...approval, ticket: 'another' })).status).toBe(409)
    expect((await post('ada/approvals/c2', approval)).status).toBe(202)
    await runs.wait('ada')
    expect(await viewOf(await get('ada'))).toMatchObject({
      status: 'completed',
      tools: [{ id: 'c2', ok: true }],
    })
    await post('bob/messages', { text: 'pay 3' })
    await runs.wait('bob')
    const denial = { approve: false, reason: 'too much', ticket: await ticketOf(get('bob'), 'c2') }
    await post('bob/approvals/c2', denial)
    await runs.wait('bob')
    expect(await viewOf(await get('bob'))).toMatchObject({ tools: [{ ok: false, denied: true }] })
  })

  test('a question is answered by the next message, which is shown as the words of the user', async () => {
    const { post, get, runs } = service()
    await post('ada/messages', { text: 'ask' })
    await runs.wait('ada')
    expect(await viewOf(await get('ada'))).toMatchObject({
      status: 'awaiting_user',
      pendingQuestion: {
        toolCallId: 'c3',
        question: 'Which seat?',
        options: { choices: ['14C', '2A'] },
      },
    })
    const answers = (await viewOf(await get('ada'))).pendingQuestion?.ticket
    await post('ada/messages', { text: '14C', answers })
    await runs.wait('ada')
    const { messages, status } = await viewOf(await get('ada'))
    expect(status).toBe('completed')
    expect(messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'ask'],
      ['assistant', ''],
      ['user', '14C'],
      ['assistant', 'Done.'],
    ])
  })

  test('the result of a call that somebody else runs is handed in', async () => {
    const { post, get, runs } = service()
    await post('ada/messages', { text: 'hand' })
    await runs.wait('ada')
    expect((await viewOf(await get('ada'))).pendingToolCalls).toEqual([
      { id: 'c4', name: 'hand', ticket: expect.any(String) as string },
    ])
    await post('ada/tools/c4', { result: { closed: true } })
    const { session } = await runs.wait('ada')
    expect(session.status).toBe('completed')
  })

  test('a run is stopped, and goes on', async () => {
    const { post, get, runs, reached, open } = service()
    await post('ada/messages', { text: 'slow' })
    await reached
    expect((await post('ada/stop', {})).status).toBe(202)
    open()
    await runs.wait('ada')
    expect(await viewOf(await get('ada'))).toMatchObject({
      status: 'halted',
      haltedReason: 'cancelled',
    })
    expect((await post('ada/resume', {})).status).toBe(202)
    await runs.wait('ada')
    expect((await viewOf(await get('ada'))).status).toBe('completed')
  })

  test('a message with the same key has one effect', async () => {
    const { post, get, runs } = service()
    const body = { text: 'hello', idempotencyKey: 'k1' }
    await post('ada/messages', body)
    await runs.wait('ada')
    expect(await (await post('ada/messages', body)).json()).toMatchObject({ duplicate: true })
    expect((await viewOf(await get('ada'))).messages).toHaveLength(2)
  })

  test('a key that came before with something else is refused, in words for a page', async () => {
    const { post, get, runs } = service()
    await post('ada/messages', { text: 'hello', idempotencyKey: 'k1' })
    await runs.wait('ada')
    for (const [path, body] of [
      ['ada/messages', { text: 'good bye' }],
      ['ada/resume', {}],
    ] as const) {
      const response = await post(path, { ...body, idempotencyKey: 'k1' })
      expect(response.status, path).toBe(409)
      expect(await response.json()).toMatchObject({
        reason: 'key_reused',
        message: 'the idempotencyKey came before with something else; use a new one',
      })
    }
    expect((await viewOf(await get('ada'))).messages).toHaveLength(2)
  })

  test.each(['http://a/ada', 'http://a/runs/ada', 'http://a/api/runs/ada?x=1', 'http://a/ada/'])(
    'the end of the path decides: %s',
    async (url) => {
      const { runs, get } = service()
      await runs.send('ada', 'hello')
      await runs.wait('ada')
      expect((await get(url)).status).toBe(200)
    },
  )

  test('ids are decoded', async () => {
    const seen: string[] = []
    const { post } = service({
      authorize: (_request, id) => {
        seen.push(id)
        return {}
      },
    })
    await post(`${encodeURIComponent('a/b ü')}/messages`, { text: 'hello' })
    expect(seen).toEqual(['a/b ü'])
  })

  test.each([
    ['GET', 'ada', ['ada', { action: 'view' }]],
    ['GET', 'ada/events', ['ada', { action: 'events' }]],
    ['POST', 'ada/messages', ['ada', { action: 'messages' }]],
    ['POST', 'ada/stop', ['ada', { action: 'stop' }]],
    ['POST', 'ada/resume', ['ada', { action: 'resume' }]],
    ['POST', 'ada/approvals/c%2F1', ['ada', { action: 'approvals', callId: 'c/1' }]],
    ['POST', 'ada/tools/stop', ['ada', { action: 'tools', callId: 'stop' }]],
    ['POST', '/ada//approvals/c1/', ['ada', { action: 'approvals', callId: 'c1' }]],
    // Other spellings of a word are no words.
    ['POST', 'ada/%61pprovals/c1', 404],
    ['POST', 'ada/approvals%2Fc1', 405],
    ['POST', 'ada/%74ools/c1', 404],
    ['POST', 'ada/Approvals/c1', 404],
    ['POST', 'ada/%73top', 405],
    ['POST', 'ada/x/..%2Fapprovals/c1', 404],
    ['GET', 'ada/%65vents', ['events', { action: 'view' }]],
  ] as const)('authorize is told what is asked: %s %s', async (method, path, expected) => {
    let asked: unknown
    const { handle } = service({
      authorize: (_request, id, what) => {
        asked = [id, what]
        return new Response('no', { status: 403 })
      },
    })
    const response = await handle(new Request(`http://a/runs/${path}`, { method }))
    expect(asked ?? response.status).toEqual(expected)
    if (asked !== undefined) expect(response.status).toBe(403)
  })
})

test('messages have the time at which they were given or complete', async () => {
  const clock = virtualClock({ start: 5000, auto: false })
  const { post, get, runs, reached, open } = service({}, { clock, store: memoryStore({ clock }) })
  await post('ada/messages', { text: 'slow' })
  await reached
  const middle = await viewOf(await get('ada'))
  expect(middle.messages.map(({ at }) => at)).toEqual([5000, 5000])
  open()
  await clock.advance(100)
  await clock.advance(1000)
  await runs.get('ada')
  const { messages } = await viewOf(await get('ada'))
  expect(messages[2]?.at).toBeGreaterThanOrEqual(5000)
  expect(messages.slice(0, 2)).toEqual(middle.messages)
  await post('ada/messages', { text: 'ask' })
  await clock.advance(1000)
  await post('ada/messages', { text: '14C' })
  await clock.advance(1000)
  const later = (await viewOf(await get('ada'))).messages
  expect(later.every(({ at }) => at !== undefined)).toBe(true)
  expect(later.find(({ text }) => text === '14C')?.at).toBe(7100)
})

describe('who may do what', () => {
  test('a handler without authorize is refused when it is made', () => {
    const { runs } = service()
    // A mistake that a program without types makes.
    expect(() => runs.handler({} as HandlerOptions)).toThrow(/authorize is missing/)
    expect(() =>
      runs.handler({ authorize: () => ({}), inclde: [] } as unknown as HandlerOptions),
    ).toThrow(/did you mean include/)
  })

  test('a refusal is sent as it is, and nothing happens', async () => {
    const { post, get, runs } = service({ authorize: () => new Response('no', { status: 403 }) })
    const paths = ['ada/messages', 'ada/stop', 'ada/resume', 'ada/approvals/c1', 'ada/tools/c1']
    for (const path of paths) expect((await post(path, { text: 'hello' })).status).toBe(403)
    for (const path of ['ada', 'ada/events']) expect((await get(path)).status).toBe(403)
    expect(await runs.get('ada')).toBeUndefined()
  })

  test('a boolean decides too, and a refusal without words is 403', async () => {
    const isAda = (id: string): boolean => id === 'ada'
    const { get } = service({ authorize: (_request, id) => isAda(id) })
    expect(await problemOf(await get('ada'))).toEqual([404, 'unknown_session'])
    expect(await problemOf(await get('bob'))).toEqual([403, 'forbidden'])
  })

  test('an error in authorize lets nobody in, and its text stays here', async () => {
    const { get } = service({
      authorize: () => {
        throw new Error('SECRET')
      },
    })
    const response = await get('ada')
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('SECRET')
  })

  test('what authorize says is in the context and the metadata of the session', async () => {
    const { post, runs } = service({
      authorize: () => ({ context: { user: 'ada' }, metadata: { tenant: 't1' } }),
    })
    await post('ada/messages', { text: 'hello' })
    const { session } = await runs.wait('ada')
    expect(session).toMatchObject({ context: { user: 'ada' }, metadata: { tenant: 't1' } })
  })
})

describe('bad input', () => {
  test.each([
    ['GET', 'http://a/', 404, 'not_found', undefined],
    ['GET', 'http://a/events', 404, 'not_found', undefined],
    ['GET', 'ada/messages', 405, 'method_not_allowed', 'POST'],
    ['POST', 'ada/events', 405, 'method_not_allowed', 'GET'],
    ['DELETE', 'ada', 405, 'method_not_allowed', 'GET'],
    ['OPTIONS', 'ada/stop', 405, 'method_not_allowed', 'POST'],
    ['GET', 'ada/approvals/c1', 405, 'method_not_allowed', 'POST'],
    ['GET', '%ff', 400, 'invalid_path', undefined],
    ['GET', '%ZZ', 400, 'invalid_path', undefined],
    ['GET', 'a%', 400, 'invalid_path', undefined],
    ['GET', '%ZZ/events', 400, 'invalid_path', undefined],
    ['POST', 'a/approvals/%E0%A4%A', 400, 'invalid_path', undefined],
    ['GET', 'x'.repeat(10_000), 400, 'invalid_session', undefined],
    ['GET', 'a%00b', 400, 'invalid_session', undefined],
    ['GET', 'nobody', 404, 'unknown_session', undefined],
    ['GET', 'nobody/events', 404, 'unknown_session', undefined],
  ])('%s %s is refused with %i %s', async (method, path, status, reason, allow) => {
    const { handle } = service()
    const url = path.startsWith('http') ? path : `http://localhost/${path}`
    const response = await handle(new Request(url, { method }))
    expect(response.headers.get('allow') ?? undefined).toBe(allow)
    expect(await problemOf(response)).toEqual([status, reason])
  })

  test.each([
    ['text/plain', '{"text":"hi"}', 415, 'unsupported_media_type'],
    ['', '{"text":"hi"}', 415, 'unsupported_media_type'],
    ['application/x-www-form-urlencoded', 'text=hi', 415, 'unsupported_media_type'],
    ['application/json; charset=utf-8', '{"text":', 400, 'invalid_body'],
    ['application/json', '', 400, 'invalid_body'],
    ['application/json', 'null', 400, 'invalid_body'],
  ])('a body of type "%s" that is %s', async (type, body, status, reason) => {
    const { post } = service()
    const response = await post('ada/messages', body, { 'content-type': type })
    expect(await problemOf(response)).toEqual([status, reason])
  })

  test('a stop needs the content type too, so that no other page can send it', async () => {
    const { handle } = service()
    const response = await handle(new Request('http://a/ada/stop', { method: 'POST' }))
    expect(response.status).toBe(415)
  })

  test('a body that is too large is refused by its length, and by what arrives', async () => {
    const { post, handle } = service({ maxBodyBytes: 100 })
    const body = { text: 'x'.repeat(200) }
    expect(await problemOf(await post('ada/messages', body))).toEqual([413, 'too_large'])
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++
        controller.enqueue(new Uint8Array(40))
      },
    })
    const request = new Request('http://a/ada/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    })
    expect(await problemOf(await handle(request))).toEqual([413, 'too_large'])
    expect(sent).toBeLessThan(10)
  })

  const png = { type: 'base64', base64: 'aGk=', mimeType: 'image/png' }
  test.each([
    [{ txt: 'hi' }, 'did you mean text'],
    [{}, 'must have either text or content'],
    [{ text: 'a', content: [] }, 'must have either text or content'],
    [{ text: '' }, 'text'],
    [{ text: 7 }, 'text'],
    [{ content: [] }, 'content'],
    [{ content: [{ type: 'provider_item', provider: 'openai', item: {} }] }, 'content[0].type'],
    [{ content: [{ type: 'reasoning', text: 'hm' }] }, 'content[0].type'],
    [
      { content: [{ type: 'file', file: { type: 'id', id: 'f', provider: 'openai' } }] },
      'content[0].file.type',
    ],
    [
      { content: [{ type: 'image', image: { type: 'url', url: 'http://10.0.0.1/' } }] },
      'content[0].image.type',
    ],
    [{ content: [{ type: 'text', text: 'a', providerOptions: {} }] }, 'providerOptions'],
    [{ content: [{ type: 'image', image: { ...png, metadata: {} } }] }, 'metadata'],
    [{ content: [{ type: 'image', image: { ...png, base64: 'a b' } }] }, 'content[0].image.base64'],
    [{ text: 'a', idempotencyKey: 'x'.repeat(300) }, 'idempotencyKey'],
    [{ text: 'a', context: { admin: true } }, 'unknown key context'],
    ['{"text":"a","__proto__":{"admin":true}}', '__proto__'],
  ])('the message %j is refused, and the answer says where and why', async (body, words) => {
    const { post, runs } = service()
    const response = await post('ada/messages', body)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(words)
    expect(await runs.get('ada')).toBeUndefined()
  })

  test('texts, images and files are taken, and addresses when they are accepted', async () => {
    const { post, runs } = service({ accept: ['image_url'] })
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image', image: png },
      { type: 'image', image: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'file', file: { type: 'base64', base64: 'aGk=', mimeType: 'text/plain', name: 'a' } },
    ]
    expect((await post('ada/messages', { content })).status).toBe(202)
    const { session } = await runs.wait('ada')
    expect(session.thread.messages[0]?.content).toEqual(content)
    const file = { type: 'file', file: { type: 'url', url: 'https://example.com/a.pdf' } }
    expect((await post('ada/messages', { content: [file] })).status).toBe(400)
  })

  test.each([
    ['ada/approvals/c2', {}, 400],
    ['ada/approvals/c2', { approve: true }, 400],
    ['ada/approvals/c2', { approve: 'yes', ticket: 't' }, 400],
    ['ada/approvals/c2', { approve: true, reason: 'x', ticket: 't' }, 400],
    ['ada/approvals/c2', { approve: false, arguments: {}, ticket: 't' }, 400],
    ['ada/approvals/c2', { approve: true, arguments: [], ticket: 't' }, 400],
    ['ada/approvals/c2', { approve: true, ticket: 't', by: 'me' }, 400],
    ['ada/approvals/c9', { approve: true, ticket: 't' }, 409],
    ['ada/tools/c2', {}, 400],
    ['ada/tools/c9', { result: 1 }, 409],
    ['ada/resume', {}, 409],
    ['ada/resume', { force: true }, 400],
    ['nobody/resume', {}, 404],
    ['nobody/approvals/c1', { approve: true, ticket: 't' }, 404],
    ['nobody/stop', {}, 202],
  ])('POST %s %j while a call waits for approval: %i', async (path, body, status) => {
    const { post, runs } = service()
    await runs.send('ada', 'pay 3')
    await runs.wait('ada')
    const response = await post(path, body)
    expect([response.status, await response.text()]).toMatchObject([status, expect.any(String)])
  })

  test('a message while a run is under way is refused as busy', async () => {
    const { post, runs, reached, open } = service()
    await post('ada/messages', { text: 'slow' })
    await reached
    expect(await problemOf(await post('ada/messages', { text: 'hello' }))).toEqual([409, 'busy'])
    open()
    await runs.wait('ada')
  })

  test('a store that is gone is 503, and its own words stay here', async () => {
    const store = memoryStore()
    const errors: unknown[] = []
    const gone = async (): Promise<never> => {
      throw new SessionError('unavailable', 'connect ECONNREFUSED SECRET:5432')
    }
    const runs = createRuns({
      engine: serviceEngine(async () => ''),
      store: { ...store, load: gone, look: gone, push: gone },
    })
    const handle = runs.handler({
      authorize: () => ({}),
      onError: (error) => errors.push(error),
    })
    const response = await handle(new Request('http://a/ada'))
    expect(response.headers.get('retry-after')).toBe('1')
    const body = await response.text()
    expect([response.status, body]).toEqual([503, expect.stringContaining('unavailable')])
    expect(body).not.toContain('SECRET')
    expect(errors).toHaveLength(1)
  })

  test.each(['-1', 'x', '1e3', '1.5', '9'.repeat(20)])('after=%s is refused', async (after) => {
    const { get, runs } = service()
    await runs.send('ada', 'hello')
    await runs.wait('ada')
    expect((await get(`ada/events?after=${after}`)).status).toBe(400)
    expect((await get('ada/events', { 'last-event-id': after })).status).toBe(400)
  })
})

describe('a client that goes away', () => {
  test('in the middle of its body is no error of the service', async () => {
    const errors: unknown[] = []
    const { handle } = service({ onError: (error) => errors.push(error) })
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('aborted')),
    })
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as const
    const response = await handle(new Request('http://a/ada/messages', init))
    expect(await problemOf(response)).toEqual([400, 'invalid_body'])
    expect(errors).toEqual([])
  })

  test('while an event is on its way is no error of the service', async () => {
    const errors: unknown[] = []
    const store = memoryStore()
    let isGated = false
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    let reading: () => void = () => undefined
    const isReading = new Promise<void>((resolve) => (reading = resolve))
    const chat = service(
      { onError: (error) => errors.push(error) },
      {
        store: {
          ...store,
          // The place where a stream of events waits for the store.
          readSnapshot: async (...args) => {
            if (isGated) {
              reading()
              await gate
            }
            return store.readSnapshot(...args)
          },
        },
      },
    )
    await chat.runs.send('ada', 'hello')
    await chat.runs.wait('ada')
    const response = await chat.get('ada/events?after=0')
    const reader = response.body?.getReader()
    await reader?.read()
    isGated = true
    const pending = reader?.read()
    await isReading
    await reader?.cancel()
    release()
    await pending
    await new Promise((resolve) => setImmediate(resolve))
    expect(errors).toEqual([])
  })
})

describe('the events', () => {
  test('begin with the view, follow the run, and end with rest', async () => {
    const { get, runs, reached, open } = service()
    await runs.send('ada', 'slow')
    await reached
    const response = await get('ada/events')
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const events = sentEvents(response)
    const first = await nextOf(events)
    expect(first?.data).toMatchObject({
      type: 'view',
      view: {
        running: true,
        status: 'idle',
        messages: [{ text: 'slow' }, { text: 'Let me see.' }],
        tools: [{ id: 'c1', name: 'slow', messageId: 'm1' }],
      },
    })
    open()
    const rest: SentEvent[] = []
    for await (const event of events) rest.push(event)
    const shown = rest.filter(({ data }) => data !== undefined)
    expect(Number(shown[0]?.id)).toBe(Number(first?.id) + 1)
    expect(types(shown).at(-1)).toBe('rest')
    expect(shown.at(-1)?.id).toBe(shown.at(-2)?.id)
  })

  test('go on after a number, by header or by query, and the header counts', async () => {
    const { get, runs } = service()
    await runs.send('ada', 'hello')
    await runs.wait('ada')
    const ids = async (response: Response): Promise<readonly number[]> =>
      (await messagesOf(response)).map(({ id }) => Number(id))
    const [, ...all] = await ids(await get('ada/events?after=0'))
    expect(await ids(await get('ada/events?after=2'))).toEqual(all.slice(2))
    expect(await ids(await get('ada/events', { 'last-event-id': '3' }))).toEqual(all.slice(3))
    expect(await ids(await get('ada/events?after=1', { 'last-event-id': '3' }))).toEqual(
      all.slice(3),
    )
  })

  test('have a number also when the browser may not see them', async () => {
    const clock = virtualClock({ auto: false })
    const { get, runs, reached, open } = service({ heartbeatMs: 1000 }, { clock, saveEveryMs: 0 })
    await runs.send('ada', 'slow')
    await reached
    const info = await runs.get('ada')
    const events = sentEvents(await get(`ada/events?after=${info?.lastEventId}`))
    expect((await events.next()).value).toMatchObject({ id: undefined })
    const beat = events.next()
    await clock.advance(1000)
    expect((await beat).value).toMatchObject({ comment: ':' })
    const later = events.next()
    await clock.advance(1000)
    expect((await later).value).toMatchObject({ comment: ':' })
    open()
    await events.return()
  })

  test('at rest: a client that asks gets rest, and an EventSource that comes back is told to stop', async () => {
    const { get, runs } = service()
    await runs.send('ada', 'hello')
    await runs.wait('ada')
    const { lastEventId } = await viewOf(await get('ada'))
    expect(types(await messagesOf(await get(`ada/events?after=${lastEventId}`)))).toEqual(['rest'])
    const again = await get('ada/events', { 'last-event-id': `${lastEventId}` })
    expect([again.status, await again.text()]).toEqual([204, ''])
    expect((await runs.get('ada'))?.lastEventId).toBe(lastEventId)
  })

  test('that are not kept are 410, and so are those of another session with the same id', async () => {
    const clock = virtualClock({ start: 1000, auto: false })
    const store = memoryStore({ clock })
    const { get, runs } = service({}, { store })
    for (const words of ['hello', 'hello again']) {
      await runs.send('ada', words)
      await runs.wait('ada')
      await clock.advance(10_000)
    }
    await store.prune({ keepMs: 5000 })
    await runs.send('ada', 'and again')
    await runs.wait('ada')
    expect(await problemOf(await get('ada/events?after=2'))).toEqual([410, 'stale'])
    expect(await problemOf(await get('ada/events?after=999'))).toEqual([410, 'stale'])
  })

  test('tell all of several runs, each after the view that it began with', async () => {
    const { get, runs } = service()
    await runs.send('hello', 'hello')
    await runs.wait('hello')
    await runs.send('hello', 'pay')
    await runs.wait('hello')
    await runs.approve('hello', 'c2')
    await runs.wait('hello')
    const log = await messagesOf(await get('hello/events?after=0'))
    const isOf = ({ data }: SentEvent): boolean => data?.type === 'view' || data?.type === 'rest'
    const numbers = log.filter((event) => !isOf(event)).map(({ id }) => Number(id))
    expect(numbers).toEqual(numbers.map((_number, at) => at + 1))
    const views = log.flatMap(({ data }) => (data?.type === 'view' ? data.view : []))
    expect(views.map(({ messages }) => messages.at(-1)?.text)).toEqual(['hello', 'pay', ''])
    let view = views[0]
    for (const { data } of log) {
      if (data?.type === 'view') view = data.view
      else if (data !== undefined && data.type !== 'rest' && view !== undefined) {
        view = { ...view, ...applyViewEvent(view, data) }
      }
    }
    const { cursor: _cursor, ...shown } = view ?? {}
    const info = await runs.get('hello')
    expect(shown).toMatchObject({ ...(info && toView(info.session)) })
  })

  test('tell the view again when a command was applied, so that another tab sees the words', async () => {
    const { get, runs, reached, open } = service({}, { whenBusy: 'queue' })
    await runs.send('ada', 'slow')
    await reached
    const response = await get('ada/events')
    await runs.send('ada', 'hello')
    open()
    const shown = await messagesOf(response)
    const views = shown.flatMap(({ data }) => (data?.type === 'view' ? data.view : []))
    expect(views).toHaveLength(2)
    expect(views[1]?.messages.map(({ text }) => text)).toContain('hello')
    expect(types(shown).slice(-2)).toEqual(['chat_completed', 'rest'])
  })

  test('tell the view again when a command was applied between the view and the events', async () => {
    const store = memoryStore()
    const other = service({}, { store }).runs
    await other.send('ada', 'hello')
    await other.wait('ada')
    let isRead = false
    const raced = {
      ...store,
      load: async (id: string) => {
        isRead = true
        return store.load(id)
      },
      look: async (id: string) => {
        const state = await store.look(id)
        if (isRead) {
          isRead = false
          await other.send(id, 'so')
          await other.wait(id)
        }
        return state
      },
    }
    const { get } = service({}, { store: raced })
    const log = await messagesOf(await get('ada/events'))
    const views = log.flatMap(({ data }) => (data?.type === 'view' ? [data.view] : []))
    expect(views.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
      ['hello', 'Hello, Ada.'],
      ['hello', 'Hello, Ada.', 'so'],
    ])
  })

  test('of a run that failed end with the view', async () => {
    const { get, runs } = service()
    await runs.send('ada', 'fail')
    const shown = await messagesOf(await get('ada/events?after=0'))
    expect(types(shown).slice(-3)).toEqual(['error', 'view', 'rest'])
    expect(shown.at(-2)?.data).toMatchObject({
      view: {
        status: 'error',
        error: {
          reason: 'provider_unavailable',
          message: 'the run ended with provider_unavailable',
        },
        messages: [{ text: 'fail' }, { text: 'Half', partial: true }],
      },
    })
  })

  test('are read only as fast as the client reads, and no longer than it is there', async () => {
    const store = memoryStore()
    let watchers = 0
    const watched = {
      ...store,
      watch: (id: string, listener: () => void) => {
        watchers++
        const end = store.watch(id, listener)
        return () => {
          watchers--
          end()
        }
      },
    }
    const { handle, runs, reached, open } = service({}, { store: watched })
    await runs.send('ada', 'slow')
    await reached
    const own = watchers
    const leaving = new AbortController()
    const { signal } = leaving
    const response = await handle(new Request('http://a/ada/events', { signal }))
    expect(watchers).toBe(own)
    const events = sentEvents(response)
    await nextOf(events)
    const waiting = events.next()
    await expect.poll(() => watchers).toBe(own + 1)
    leaving.abort()
    expect((await waiting).done).toBe(true)
    await expect.poll(() => watchers).toBe(own)
    open()
    await runs.wait('ada')
  })
})
