import { createUIMessageStream, createUIMessageStreamResponse, validateUIMessages } from 'ai'
import { createUIMessageStreamResponse as create5 } from 'ai-5'
import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  halt,
  handoff,
  Session,
  streamChat,
  streamGenerate,
  tool,
  type Engine,
  type RunStream,
  type Source,
  type StreamEvent,
} from '../../../src/index.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import {
  toAgUi,
  toUiMessageResponse,
  toUiMessages,
  toUiMessageStream,
  uiPast,
  type AgUiIds,
} from '../../../src/ui.ts'
import { service, serviceEngine } from '../../durable/runs/service.ts'
import { partsOf, readBy, shownText } from './readers.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather.',
  schema: { type: 'object', properties: { city: { type: 'string' } } },
  handler: async (_args, { progress }) => {
    await progress({ percent: 50 })
    return { celsius: 21 }
  },
})
const broken = tool({
  name: 'broken',
  description: 'Fails.',
  schema: { type: 'object' },
  handler: () => {
    throw new Error('the password of the database is swordfish')
  },
})
const seat = tool({
  name: 'seat',
  description: 'Asks.',
  schema: { type: 'object' },
  handler: () => askUser('Window or aisle?', { choices: ['Window', 'Aisle'] }),
})
const pay = tool({
  name: 'pay',
  description: 'Pays.',
  schema: { type: 'object' },
  needsApproval: true,
  handler: () => 'paid',
})
const hand = tool({
  name: 'hand',
  description: 'By hand.',
  schema: { type: 'object' },
  manual: true,
})
const stop = tool({
  name: 'stop',
  description: 'Halts.',
  schema: { type: 'object' },
  handler: () => halt('enough', { left: 0 }),
})

function engineOf(...scripts: Script[]): Engine {
  const adapter = fake({ scripts })
  return createEngine({ adapter, tools: [weather, broken, seat, pay, hand, stop], retry: false })
}
const call = (name: string, args: Record<string, string> = {}, id = 'c1'): Script[number] => [
  'tool_call',
  { id, name, arguments: args },
]

describe.each([5, 6] as const)('read by readUIMessageStream of AI SDK %i', (version) => {
  test('text, reasoning and a tool give one message of two steps', async () => {
    const engine = engineOf(
      [
        ['reasoning', 'They mean Ghent.'],
        ['text', 'Let me '],
        ['text', 'see.'],
        call('weather', { city: 'Ghent' }),
      ],
      [
        ['text', 'It is 21 degrees.'],
        ['usage', { inputTokens: 3, outputTokens: 4 }],
      ],
    )
    const reading = await readBy(
      version,
      toUiMessageStream(streamChat(engine, 'How warm?'), { version }),
    )
    expect(reading.errors).toEqual([])
    expect(reading.message?.parts.map(({ type }) => type)).toEqual([
      'step-start',
      'reasoning',
      'text',
      'tool-weather',
      'data-progress',
      'step-start',
      'text',
    ])
    expect(partsOf(reading, 'tool-weather')).toMatchObject([
      {
        toolCallId: 'c1',
        state: 'output-available',
        input: { city: 'Ghent' },
        output: { celsius: 21 },
      },
    ])
    expect(partsOf(reading, 'reasoning')).toMatchObject([
      { text: 'They mean Ghent.', state: 'done' },
    ])
    expect(partsOf(reading, 'text')).toMatchObject([
      { text: 'Let me see.', state: 'done' },
      { text: 'It is 21 degrees.', state: 'done' },
    ])
    expect(reading.message?.metadata).toMatchObject({
      haltedReason: 'completed',
      usage: { inputTokens: 3 },
    })
    expect(reading.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
  })

  test('a tool that fails is an output error, whose text says the reason and nothing else', async () => {
    const engine = engineOf([call('broken')], [['text', 'It failed.']])
    const reading = await readBy(version, toUiMessageStream(streamChat(engine, 'x'), { version }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-broken')).toMatchObject([
      { state: 'output-error', errorText: 'the tool failed with handler_raised' },
    ])
    expect(JSON.stringify(reading)).not.toContain('swordfish')
  })

  test('a call of a tool that does not exist is an output error', async () => {
    const engine = engineOf([call('nobody')], [['text', 'Sorry.']])
    const reading = await readBy(version, toUiMessageStream(streamChat(engine, 'x'), { version }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-nobody')).toMatchObject([{ state: 'output-error' }])
  })

  test('a question is a data part, and its call waits', async () => {
    const engine = engineOf([call('seat')])
    const reading = await readBy(version, toUiMessageStream(streamChat(engine, 'x'), { version }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-seat')).toMatchObject([{ state: 'input-available' }])
    expect(partsOf(reading, 'data-question')).toEqual([
      {
        type: 'data-question',
        id: 'c1',
        data: {
          toolCallId: 'c1',
          toolName: 'seat',
          question: 'Window or aisle?',
          options: { choices: ['Window', 'Aisle'] },
        },
      },
    ])
    expect(reading.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' })
  })

  test('a tool that the page runs waits for its output', async () => {
    const engine = engineOf([call('hand', { ticket: '7' })])
    const reading = await readBy(version, toUiMessageStream(streamChat(engine, 'x'), { version }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-hand')).toMatchObject([
      { state: 'input-available', input: { ticket: '7' } },
    ])
  })

  test('a handler that halts has its result as output', async () => {
    const engine = engineOf([call('stop')])
    const reading = await readBy(version, toUiMessageStream(streamChat(engine, 'x'), { version }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-stop')).toMatchObject([{ output: { left: 0 } }])
    expect(reading.message?.metadata).toMatchObject({ haltedReason: 'enough' })
  })

  test('sources and files are parts', async () => {
    const sources: Source[] = [
      { type: 'url', url: 'https://example.com/a', title: 'A', start: 0, end: 5 },
      { type: 'file', title: 'report.pdf' },
    ]
    const image = { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' } as const
    const events: StreamEvent[] = [
      { type: 'message_started', requestId: 'r', provider: 'p' },
      { type: 'text_delta', delta: 'Hello', index: 0 },
      { type: 'text_completed', text: 'Hello', index: 0, sources: sources.slice(0, 1) },
      { type: 'image_completed', image },
      { type: 'image_completed', image: { type: 'url', url: 'https://example.com/b.png' } },
      { type: 'image_completed', image: { type: 'id', id: 'f1', provider: 'p' } },
      {
        type: 'message_completed',
        message: {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Hello' },
            { type: 'file', file: { type: 'base64', base64: 'QQ==', mimeType: 'audio/wav' } },
          ],
          sources,
        },
        finishReason: 'stop',
      },
    ]
    const reading = await readBy(version, toUiMessageStream(from(events), { version }))
    expect(reading.errors).toEqual([])
    expect(reading.message?.parts.filter(({ type }) => type !== 'text')).toMatchObject([
      { type: 'step-start' },
      {
        type: 'source-url',
        url: 'https://example.com/a',
        title: 'A',
        providerMetadata: { allm: { start: 0, end: 5 } },
      },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
      { type: 'file', mediaType: 'image/*', url: 'https://example.com/b.png' },
      { type: 'file', mediaType: 'audio/wav', url: 'data:audio/wav;base64,QQ==' },
      { type: 'source-document', title: 'report.pdf' },
    ])
  })

  test('a failure before the first event is told in safe words', async () => {
    const engine = engineOf([['preflight_error', 'rate_limited', { message: 'key sk-123' }]])
    const stream = toUiMessageStream(streamChat(engine, 'x'), { version })
    const reading = await readBy(version, stream)
    expect(reading.errors).toEqual(['the run ended with rate_limited'])
    expect(reading.chunks.map(({ type }) => type)).toEqual(['start', 'error', 'finish'])
  })

  test('a failure in the middle keeps what came before', async () => {
    const engine = engineOf([
      ['text', 'Half'],
      ['error', 'provider_unavailable'],
    ])
    const stream = toUiMessageStream(streamChat(engine, 'x'), { version })
    const reading = await readBy(version, stream)
    expect(reading.errors).toEqual(['the run ended with provider_unavailable'])
    expect(partsOf(reading, 'text')).toMatchObject([{ text: 'Half', state: 'done' }])
    expect(reading.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'error' })
  })

  test('a run that is stopped ends with abort, and calls without a result say so', async () => {
    const stopping = new AbortController()
    const engine = engineOf([
      ['text', 'Half'],
      ['tool_call_delta', { id: 'c1', name: 'weather', argumentsDelta: '{"city":' }],
      ['delay', 60_000],
    ])
    const run = streamChat(engine, 'x', {
      signal: stopping.signal,
      onEvent: ({ type }) => void (type === 'tool_call_delta' && stopping.abort()),
    })
    const reading = await readBy(version, toUiMessageStream(run, { version }))
    expect(reading.errors).toEqual([])
    expect(reading.chunks.map(({ type }) => type)).toContain('abort')
    expect(shownText(reading)).toBe('Half')
    expect(partsOf(reading, 'tool-weather')).toMatchObject([
      { state: 'output-error', errorText: 'the run ended before the call had a result' },
    ])
  })

  test('an answer that is written again is marked, and its text is the last part', async () => {
    const started: StreamEvent = { type: 'message_started', requestId: 'r', provider: 'p' }
    const reading = await readBy(
      version,
      toUiMessageStream(
        from([
          started,
          { type: 'text_delta', delta: 'Once upon' },
          { type: 'tool_call_started', id: 'c1', name: 'weather' },
          started,
          { type: 'text_delta', delta: 'Once more' },
          { type: 'tool_call_completed', call: { id: 'c1', name: 'weather', arguments: {} } },
          {
            type: 'tool_execution_completed',
            id: 'c1',
            name: 'weather',
            result: { ok: 1 },
            durationMs: 1,
          },
        ]),
        { version },
      ),
    )
    expect(reading.errors).toEqual([])
    const parts = reading.message?.parts ?? []
    const at = parts.findLastIndex(({ type }) => type === 'data-restart')
    expect(parts.slice(at + 1)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Once more' },
      { type: 'tool-weather', state: 'output-available', output: 1 },
      // The last step has no calls.
      { type: 'step-start' },
    ])
    expect(parts.slice(0, at)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Once upon', state: 'done' },
      { type: 'tool-weather', state: 'output-error' },
    ])
  })

  test('a result of a call that the page cannot know is left out', async () => {
    const reading = await readBy(
      version,
      toUiMessageStream(
        from([
          {
            type: 'tool_result_encoded',
            id: 'old',
            content: 'late',
            metadata: { lateResultOf: 'old' },
          },
          {
            type: 'tool_result_encoded',
            id: 'older',
            content: 'denied',
            metadata: { denied: true },
          },
          {
            type: 'tool_execution_started',
            id: 'c1',
            name: 'weather',
            arguments: { city: 'Ghent' },
          },
          {
            type: 'tool_execution_completed',
            id: 'c1',
            name: 'weather',
            result: { ok: 1 },
            durationMs: 1,
          },
        ]),
        { version },
      ),
    )
    expect(reading.errors).toEqual([])
    expect(reading.message?.parts).toMatchObject([
      { type: 'tool-weather', toolCallId: 'c1', input: { city: 'Ghent' }, output: 1 },
      { type: 'step-start' },
    ])
  })

  test('what is not included is not sent, except the arguments of calls that await approval', async () => {
    const secret = { city: 'Ghent' }
    const engine = engineOf([
      ['reasoning', 'hidden thought'],
      call('weather', secret),
      call('pay', { euros: '3' }, 'c2'),
    ])
    const stream = toUiMessageStream(streamChat(engine, 'x'), { version, include: [] })
    const reading = await readBy(version, stream)
    expect(reading.errors).toEqual([])
    const sent = JSON.stringify(reading.chunks)
    for (const hidden of ['hidden thought', 'Ghent', 'celsius', 'usage'])
      expect(sent).not.toContain(hidden)
    expect(partsOf(reading, 'tool-weather')).toMatchObject([{ input: {}, output: null }])
    expect(partsOf(reading, 'tool-pay')).toMatchObject([{ input: { euros: '3' } }])
  })

  test('parts of calls can be dynamic', async () => {
    const engine = engineOf([call('weather'), call('broken', {}, 'c2')], [['text', 'Done.']])
    const stream = toUiMessageStream(streamChat(engine, 'x'), { version, dynamicTools: true })
    const reading = await readBy(version, stream)
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'dynamic-tool')).toMatchObject([
      { toolName: 'weather', state: 'output-available' },
      { toolName: 'broken', state: 'output-error' },
    ])
  })

  test('filtered deltas change nothing about the text', async () => {
    const script: Script = [
      ['text', 'One '],
      ['text', 'two.'],
    ]
    const filtered = streamChat(engineOf(script), 'x', {
      emitTextDeltas: false,
      emitToolDeltas: false,
    })
    const reading = await readBy(version, toUiMessageStream(filtered, { version }))
    expect(reading.errors).toEqual([])
    expect(shownText(reading)).toBe('One two.')
  })

  test('a single model call is a message, too', async () => {
    const run = streamGenerate(engineOf([['text', 'Hello']]), 'x')
    const reading = await readBy(version, toUiMessageStream(run, { version }))
    expect(reading.errors).toEqual([])
    expect(shownText(reading)).toBe('Hello')
    expect(reading.chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
  })
})

describe('approval', () => {
  test('is a state of the call for AI SDK 6', async () => {
    const engine = engineOf([call('pay', { euros: '3' })])
    const reading = await readBy(6, toUiMessageStream(streamChat(engine, 'x')))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-pay')).toMatchObject([
      { state: 'approval-requested', input: { euros: '3' }, approval: { id: 'c1' } },
    ])
    await validateUIMessages({ messages: [{ ...reading.message, role: 'assistant' }] })
  })

  test('is a data part for AI SDK 5, which has no such state', async () => {
    const engine = engineOf([call('pay', { euros: '3' })])
    const reading = await readBy(5, toUiMessageStream(streamChat(engine, 'x'), { version: 5 }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-pay')).toMatchObject([{ state: 'input-available' }])
    expect(partsOf(reading, 'data-approval')).toMatchObject([
      { id: 'c1', data: { toolCallId: 'c1', toolName: 'pay', input: { euros: '3' } } },
    ])
  })

  test('that is refused by a policy is an output error: nobody was asked', async () => {
    const engine = engineOf([call('pay')], [['text', 'No.']])
    const run = streamChat(engine, 'x', { approve: () => ({ deny: 'not today' }) })
    const reading = await readBy(6, toUiMessageStream(run))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-pay')).toMatchObject([
      { state: 'output-error', errorText: 'the call was denied' },
    ])
  })
})

describe('the stream', () => {
  test('is lazy, and cancelling it cancels the run', async () => {
    let closed = 0
    const adapter = fake({
      script: [
        ['text', 'a'],
        ['delay', 60_000],
        ['text', 'b'],
      ],
      cleanupObserver: () => void closed++,
    })
    const engine = createEngine({ adapter, clock: virtualClock() })
    const stream = toUiMessageStream(streamChat(engine, 'x'))
    await Promise.resolve()
    expect(adapter.calls).toHaveLength(0)
    const reader = stream.getReader()
    await reader.read()
    await reader.cancel()
    expect(closed).toBe(1)
    expect(adapter.openStreams).toBe(0)
  })

  test('is the same from the log of runs as from the run itself', async () => {
    for (const words of ['hello', 'slow', 'pay', 'ask', 'hand', 'fail']) {
      const { runs, open } = service()
      open()
      await runs.send('ada', words)
      const run = Session.streamReply(
        serviceEngine(async () => 'seen'),
        Session.create({ id: 'ada' }),
        words,
      )
      const direct = await readBy(6, toUiMessageStream(run))
      const logged = await readBy(6, toUiMessageStream(runs.follow('ada')))
      expect(logged.message?.parts).toEqual(direct.message?.parts)
      expect(logged.errors).toEqual(direct.errors)
    }
  })

  test('of a session has the id that the saved conversation gives to its answer', async () => {
    const first = await Session.start(engineOf([['text', 'One.']]), 'first')
    const stream = Session.streamReply(engineOf([['text', 'Two.']]), first.session, 'second')
    const reading = await readBy(6, toUiMessageStream(stream))
    const ids = toUiMessages(stream.session).map(({ id }) => id)
    expect(ids).toEqual(['m0', 'm0-answer', 'm2', 'm2-answer'])
    expect(reading.message?.id).toBe('m2-answer')
  })

  test('tells failures to onError, and sends the text that it returns', async () => {
    const errors: unknown[] = []
    const engine = engineOf([['error', 'rate_limited']])
    const stream = toUiMessageStream(streamChat(engine, 'x'), {
      onError: (error) => {
        errors.push(error)
        return 'Too many of us.'
      },
    })
    expect((await readBy(6, stream)).errors).toEqual(['Too many of us.'])
    expect(errors).toMatchObject([{ reason: 'rate_limited' }])
  })

  test('shows the messages of errors only when they are included', async () => {
    const engine = engineOf([call('broken')], [['error', 'rate_limited']])
    const include = ['errors'] as const
    const reading = await readBy(6, toUiMessageStream(streamChat(engine, 'x'), { include }))
    expect(partsOf(reading, 'tool-broken')).toMatchObject([
      { errorText: expect.stringContaining('swordfish') },
    ])
  })

  test('has the metadata that the caller makes of events', async () => {
    const stream = toUiMessageStream(streamChat(engineOf([['text', 'Hi']]), 'x'), {
      messageMetadata: (event) => {
        if (event.type === 'message_started') return { startedAt: 1 }
        return event.type === 'chat_completed' ? { ended: true } : undefined
      },
    })
    const reading = await readBy(6, stream)
    expect(reading.errors).toEqual([])
    expect(reading.message?.metadata).toEqual({ startedAt: 1, ended: true })
  })

  test('ends with an error if a function of the caller throws', async () => {
    const told: unknown[] = []
    const fail = (event?: StreamEvent): undefined => {
      if (event?.type === 'message_started') return undefined
      throw new Error('a mistake')
    }
    for (const options of [{ messageMetadata: fail }, { messageId: fail }]) {
      const adapter = fake({
        script: [
          ['text', 'Hi'],
          ['delay', 60_000],
        ],
      })
      const run = streamChat(createEngine({ adapter, clock: virtualClock() }), 'x')
      const stream = toUiMessageStream(run, {
        ...options,
        onError: (error) => void told.push(error),
      })
      const reading = await readBy(6, stream)
      expect(reading.errors).toEqual(['the run ended with unknown'])
      expect(adapter.openStreams).toBe(0)
    }
    expect(told).toMatchObject([{ message: 'a mistake' }, { message: 'a mistake' }])
  })

  test('refuses options that it does not have, by name', () => {
    const run = streamChat(engineOf([['text', 'Hi']]), 'x')
    const options = { sendReasoning: true } as object
    expect(() => toUiMessageStream(run, options)).toThrow(/unknown key sendReasoning/)
    expect(() => toUiMessageResponse(run, { version: 4 } as object)).toThrow(
      /version must be 5, 6 or 7/,
    )
    expect(() => toUiMessageStream(run, { session: {} } as object)).toThrow(/unknown key session/)
    const past = Session.create({ id: 'ada' })
    expect(() => toUiMessageStream(run, { past } as object)).toThrow(/past must be what uiPast/)
    expect(() => toAgUi(run, {} as AgUiIds)).toThrow(/threadId/)
  })

  test('with the past of a session sends its answer first, and goes on with the events after it', async () => {
    const { runs, open } = service()
    const followed = runs.follow('ada')
    await runs.send('ada', 'slow')
    for await (const entry of followed) {
      if ('event' in entry && entry.event.type === 'tool_execution_started') break
    }
    const info = await runs.get('ada')
    const events = runs.follow('ada', { after: info?.lastEventId })
    open()
    const past = info && uiPast(info.session)
    const reading = await readBy(6, toUiMessageStream(events, { past }))
    expect(reading.errors).toEqual([])
    expect(reading.message?.id).toBe('m0-answer')
    expect(shownText(reading)).toBe('Let me see.Done.')
    expect(partsOf(reading, 'tool-slow')).toMatchObject([{ state: 'output-available' }])
  })

  test('with the past of a run that has asked, and whose other tools have not ended, shows what was asked once', async () => {
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      schema: { type: 'object' },
      handler: () => askUser('which?'),
    })
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      needsApproval: true,
      handler: () => 'paid',
    })
    const script: Script = [
      ['tool_call', { id: 'c1', name: 'ask', arguments: {} }],
      ['tool_call', { id: 'c2', name: 'ask', arguments: {} }],
      ['tool_call', { id: 'c3', name: 'pay', arguments: {} }],
    ]
    const engine = createEngine({ adapter: fake({ script }), tools: [ask, pay] })
    const stream = Session.streamStart(engine, 'go')
    const rest: StreamEvent[] = []
    let past: ReturnType<typeof uiPast> | undefined
    let asked = 0
    for await (const event of stream) {
      if (past) rest.push(event)
      asked += /^(?:ask_user|approval)_requested$/.test(event.type) ? 1 : 0
      if (asked === 3) past ??= uiPast(stream.session)
    }
    expect(rest.length).toBeGreaterThan(0)
    const reading = await readBy(6, toUiMessageStream(from(rest), { past }))
    expect(reading.errors).toEqual([])
    expect(partsOf(reading, 'tool-ask').map(({ toolCallId }) => toolCallId)).toEqual(['c1', 'c2'])
    expect(partsOf(reading, 'tool-pay')).toMatchObject([{ state: 'approval-requested' }])
    expect(partsOf(reading, 'data-question')).toHaveLength(2)
  })

  test('does not send the answer of a session again into a message that has some of it', async () => {
    const engine = engineOf([['text', 'One.']])
    const { session } = await Session.start(engine, 'first')
    const original = [{ id: 'a', role: 'assistant', parts: [] }]
    const past = uiPast(session)
    expect(() => toUiMessageStream(from([]), { past, originalMessages: original })).toThrow(
      'past needs sendUiMessages to go on',
    )
  })
})

describe('the response', () => {
  test('is server-sent events with the header and the end that the AI SDK has', async () => {
    const run = streamChat(engineOf([['text', 'Hi']]), 'x')
    const response = toUiMessageResponse(run, { status: 201, headers: { 'x-mine': '1' } })
    const theirs = createUIMessageStreamResponse({ stream: new ReadableStream() })
    const header = 'x-vercel-ai-ui-message-stream'
    expect(response.headers.get(header)).toBe(theirs.headers.get(header))
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('x-mine')).toBe('1')
    expect(response.status).toBe(201)
    const text = await response.text()
    expect(text).toMatch(/^data: \{"type":"start"\}\n\n/)
    expect(text).toMatch(/data: \[DONE\]\n\n$/)
  })

  test('can be merged into a stream of the AI SDK, by its types too', async () => {
    const run = (): RunStream => streamChat(engineOf([['text', 'Hi']]), 'x')
    const merged = createUIMessageStream({
      execute: ({ writer }) => writer.merge(toUiMessageStream(run())),
    })
    expect(await createUIMessageStreamResponse({ stream: merged }).text()).toContain('"delta":"Hi"')
    const old = create5({ stream: toUiMessageStream(run(), { version: 5 }) })
    expect(await old.text()).toContain('"delta":"Hi"')
  })

  test('sends a sign of life while the run is silent', async () => {
    const clock = virtualClock({ auto: true })
    const adapter = fake({
      script: [
        ['delay', 40_000],
        ['text', 'late'],
      ],
    })
    const engine = createEngine({ adapter, clock, streamTimeoutMs: 600_000 })
    const text = await toUiMessageResponse(streamChat(engine, 'x'), { clock }).text()
    expect(text.startsWith(':\n\n:\n\ndata: ')).toBe(true)
  })
})

/** Events as a source. */
async function* from(events: readonly StreamEvent[]): AsyncGenerator<StreamEvent, void> {
  yield* events
}

describe('who answered, and why the answer ended', () => {
  const expert = createEngine({
    name: 'Expert',
    adapter: fake({
      script: () => [
        ['text', 'Half'],
        ['finish', 'length'],
      ],
    }),
  })
  const desk = (): Engine =>
    createEngine({
      name: 'Desk',
      adapter: fake({ scripts: [[['tool_call', { id: 'h', name: 'handoff' }]]] }),
      tools: [handoff(expert)],
    })

  test.each([5, 6] as const)(
    'are the metadata of the message of a page with version %i, live and after a reload',
    async (version) => {
      const stream = Session.streamStart(desk(), 'help')
      const live = await readBy(version, toUiMessageStream(stream, { version }))
      expect(live.errors).toEqual([])
      expect(live.chunks).toContainEqual({
        type: 'message-metadata',
        messageMetadata: { agent: 'Desk' },
      })
      expect(live.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'length' })
      expect(live.message?.metadata).toMatchObject({ agent: 'Expert', finishReason: 'length' })
      const [, loaded] = toUiMessages(stream.session, { version })
      expect(loaded?.metadata).toEqual({ agent: 'Expert', finishReason: 'length' })
      const past = uiPast(stream.session)
      const again = await readBy(version, toUiMessageStream(nothing(), { version, past }))
      expect(again.errors).toEqual([])
      expect(again.message?.metadata).toEqual(loaded?.metadata)
      expect(again.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'length' })
    },
  )

  test('an answer that was filtered is a message without text', async () => {
    const stream = Session.streamStart(engineOf([['finish', 'content_filter']]), 'hi')
    const live = await readBy(6, toUiMessageStream(stream))
    expect(live.errors).toEqual([])
    expect(live.message).toMatchObject({
      parts: [{ type: 'step-start' }],
      metadata: { finishReason: 'content_filter' },
    })
    const [, loaded] = toUiMessages(stream.session)
    expect(loaded).toMatchObject({
      id: live.message?.id,
      parts: live.message?.parts,
      metadata: { finishReason: 'content_filter' },
    })
    expect((await validateUIMessages({ messages: [loaded] })).length).toBe(1)
  })

  test('the call of an answer that was cut fails', async () => {
    const cut: Script = [
      ['tool_call', { id: 'c1', name: 'weather', rawArguments: '{"ci' }],
      ['finish', 'length'],
    ]
    const stream = Session.streamStart(engineOf(cut), 'hi')
    const live = await readBy(6, toUiMessageStream(stream))
    const failed = {
      state: 'output-error',
      errorText: 'the run ended before the call had a result',
    }
    expect(partsOf(live, 'tool-weather')).toMatchObject([failed])
    expect(toUiMessages(stream.session)[1]?.parts).toMatchObject([{}, failed, {}])
  })

  test('are left to a caller who gives metadata', async () => {
    const stream = streamChat(desk(), 'help')
    const messageMetadata = (): object => ({ mine: true })
    const { message } = await readBy(6, toUiMessageStream(stream, { messageMetadata }))
    expect(message?.metadata).toEqual({ mine: true })
  })

  test('without them there is no metadata after a reload', async () => {
    const { session } = await Session.start(engineOf([['text', 'Hi']]), 'hi')
    expect(toUiMessages(session)[1]).not.toHaveProperty('metadata')
  })
})

async function* nothing(): AsyncGenerator<StreamEvent, void> {}
