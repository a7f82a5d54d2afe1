import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  assistant,
  chat,
  createEngine,
  errorToJSON,
  generate,
  imageFromUrl,
  imagePart,
  messageText,
  moderate,
  modelRequest,
  onTelemetry,
  Session,
  streamGenerate,
  textPart,
  tool,
  toolResult,
  user,
  ValidationError,
  type ChatAdapter,
  type Message,
  type ModelEvent,
  type ModerationAdapter,
  type Part,
  type Source,
  type StreamEvent,
  type TelemetryEvent,
} from '../../src/index.ts'
import {
  fallback,
  guard,
  type GuardedContent,
  type GuardOptions,
  type OutputGuard,
} from '../../src/middleware.ts'
import { openaiModeration } from '../../src/openai.ts'
import { createRuns } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import {
  collectEvents,
  fake,
  fakeModeration,
  moderationResult,
  virtualClock,
  type FakeOptions,
  type Script,
} from '../../src/testing.ts'
import { nextTurn } from '../../src/testing/fakes/virtual-clock.ts'
import { json, stubFetch } from '../models/support.ts'
import { renamed } from './renamed.ts'

const rude = (text: string): readonly string[] => (text.includes('rude') ? ['harassment'] : [])

const hello: Script = [
  ['text', 'Hello'],
  ['finish', 'stop'],
]

function guarded(options: GuardOptions, script: FakeOptions = { script: () => hello }) {
  const clock = virtualClock()
  const inner = fake(script)
  const adapter = guard(inner, options)
  const engine = createEngine({ adapter, clock, retry: false })
  return { clock, inner, adapter, engine }
}

/** The error that a promise rejects with, as data. */
function failure(promise: Promise<unknown>) {
  return promise.then(() => 'no failure', errorToJSON)
}

describe('the input', () => {
  test('that is refused never reaches the model', async () => {
    const judge = fakeModeration({ flag: rude })
    const { engine, inner } = guarded({ input: judge })
    expect(await failure(generate(engine, 'a rude word'))).toMatchObject({
      kind: 'adapter',
      reason: 'content_filter',
      provider: 'fake',
      retryable: false,
      message: 'the guard has refused the input: harassment',
      metadata: { guard: 'input', role: 'user', categories: ['harassment'] },
    })
    expect(inner.calls).toEqual([])
    expect((await generate(engine, 'a kind word')).outputText).toBe('Hello')
    expect(judge.calls.map(({ request }) => request.input)).toEqual([
      ['a rude word'],
      ['a kind word'],
    ])
  })

  test('is not named in the error', async () => {
    const { engine } = guarded({ input: () => true })
    const error = await failure(generate(engine, 'my rude words'))
    expect(JSON.stringify(error)).not.toContain('my rude words')
  })

  test('is what came since the last answer, without the words of the application', async () => {
    const seen: GuardedContent[] = []
    const { adapter } = guarded({
      input: (content) => {
        seen.push(content)
        return false
      },
    })
    const call = { id: 'c1', name: 'look', arguments: {} }
    const thread: readonly Message[] = [
      { role: 'system', content: 'be kind' },
      user('one'),
      { role: 'assistant', content: '', toolCalls: [call] },
      toolResult('c1', 'two'),
      user([textPart('three '), imagePart(imageFromUrl('https://example.com/a.png'))]),
      user(''),
    ]
    await adapter.generate?.(modelRequest(thread))
    expect(seen.map(({ role, text }) => [role, text])).toEqual([
      ['tool', 'two'],
      ['user', 'three '],
    ])
    expect(seen[1]?.parts).toHaveLength(2)
  })

  test.each([
    ['an answer that the model has to continue', {}, ['one']],
    ['the whole history, if it is wanted', { history: true }, ['zero', 'one']],
    [
      'the roles that are wanted',
      { history: true, roles: ['assistant', 'system'] },
      ['be kind', 'sure', 'Well,'],
    ],
  ] as const)('is judged with %s', async (_name, rule, expected) => {
    const seen: string[] = []
    const check = ({ text }: GuardedContent): boolean => {
      seen.push(text)
      return false
    }
    const { adapter } = guarded({ input: { check, ...rule } })
    const system: Message = { role: 'system', content: 'be kind' }
    const thread = [system, user('zero'), assistant('sure'), user('one'), assistant('Well,')]
    await adapter.generate?.(modelRequest(thread))
    expect(seen).toEqual(expected)
  })

  test('is judged once, however many steps and attempts a loop has', async () => {
    const judge = fakeModeration()
    const calls: Script = [['tool_call', { id: 'c1', name: 'look', arguments: {} }]]
    const down: Script = [['preflight_error', 'provider_unavailable', {}]]
    const inner = fake({ scripts: [down, calls, down, hello] })
    const look = tool({ name: 'look', description: 'Looks.', schema: {}, handler: () => 'seen' })
    const engine = createEngine({
      adapter: guard(inner, { input: judge }),
      clock: virtualClock(),
      tools: [look],
    })
    expect((await chat(engine, 'hi')).outputText).toBe('Hello')
    expect(judge.calls.map(({ request }) => request.input)).toEqual([['hi'], ['seen']])
    inner.assertDone()
  })

  test('of a session that is refused leaves the session before it as it was', async () => {
    const { engine } = guarded({ input: fakeModeration({ flag: rude }) })
    const { session } = await Session.start(engine, 'kind')
    const refused = await Session.reply(engine, session, 'rude')
    expect(refused.session).toMatchObject({
      status: 'error',
      error: { reason: 'content_filter', metadata: { guard: 'input' } },
    })
    const again = await Session.reply(engine, refused.session, 'kind')
    expect(again.session.status).toBe('completed')
    const { session: next } = await Session.reply(engine, session, 'kind again')
    expect(next.status).toBe('completed')
  })

  test('with images is judged message by message, and texts are judged together', async () => {
    const judge = fakeModeration({ flag: (_text, images) => (images.length > 0 ? ['sexual'] : []) })
    const { adapter } = guarded({ input: judge })
    const picture = imagePart(imageFromUrl('https://example.com/a.png'))
    const request = modelRequest([toolResult('c1', 'one'), user([textPart('two'), picture])])
    expect(await failure(Promise.resolve(adapter.generate?.(request)))).toMatchObject({
      reason: 'content_filter',
      metadata: { categories: ['sexual'] },
    })
    expect(judge.calls.map((call) => call.request.input)).toEqual([
      ['one'],
      [
        { type: 'text', text: 'two' },
        { type: 'image', image: picture.image },
      ],
    ])
  })

  test('with a text file is judged by its text, and any other file cannot be', async () => {
    const judge = fakeModeration({ flag: rude })
    const { adapter, inner } = guarded({ input: judge })
    const file = (mimeType: string) =>
      user([{ type: 'file', file: { type: 'base64', mimeType, base64: btoa('a rude file') } }])
    const ask = (message: Message) =>
      failure(Promise.resolve(adapter.generate?.(modelRequest([message]))))
    expect(await ask(file('text/plain'))).toMatchObject({ reason: 'content_filter' })
    expect(await ask(file('application/pdf'))).toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining('cannot judge application/pdf') as string,
      metadata: { guard: 'input' },
    })
    expect(inner.calls).toEqual([])
    const lenient = guarded({
      input: { check: judge, failOpen: ({ reason }) => reason === 'unsupported_feature' },
    })
    expect(
      (await lenient.adapter.generate?.(modelRequest([file('application/pdf')])))?.outputText,
    ).toBe('Hello')
  })

  const pdf: Part = {
    type: 'file',
    file: { type: 'base64', mimeType: 'application/pdf', base64: btoa('%PDF-1.7') },
  }
  const picture = imagePart(imageFromUrl('https://example.com/a.png'))
  const uploaded = { type: 'id', id: 'file-1', provider: 'openai' } as const

  test.each<[string, readonly Part[]]>([
    ['a PDF', [textPart('a rude word'), pdf]],
    ['a file that was uploaded', [{ type: 'file', file: uploaded }, textPart('a rude word')]],
    [
      'a recording',
      [
        textPart('a rude word'),
        { type: 'file', file: { type: 'base64', mimeType: 'audio/wav', base64: btoa('RIFF') } },
      ],
    ],
    ['an image that was uploaded', [textPart('a rude word'), imagePart(uploaded)]],
    [
      'an image that was uploaded and one that was not',
      [imagePart(uploaded), textPart('a rude word'), picture],
    ],
  ])('beside %s is judged, if only that may pass', async (_name, parts) => {
    const sent: string[] = []
    const fetch = async (_url: string, { body }: RequestInit): Promise<Response> => {
      const words = typeof body === 'string' ? body : ''
      sent.push(words)
      const flagged = words.includes('rude')
      return json({ results: [{ flagged, categories: {}, category_scores: {} }] })
    }
    const { engine, inner } = guarded({
      input: {
        check: openaiModeration({ fetch, apiKey: 'key' }),
        failOpen: ({ reason }) => reason === 'unsupported_feature',
      },
    })
    expect(await failure(generate(engine, [user(parts)]))).toMatchObject({
      reason: 'content_filter',
    })
    expect([inner.calls.length, sent.length]).toEqual([0, 1])
    const kind = parts.map((part) => (part.type === 'text' ? textPart('a kind word') : part))
    expect((await generate(engine, [user(kind)])).outputText).toBe('Hello')
  })

  test('is judged message by message, also if the check of one of them fails', async () => {
    const check = ({ text }: GuardedContent): boolean => {
      if (text === 'odd') throw new Error('out of order')
      return text.includes('rude')
    }
    const { adapter, inner } = guarded({ input: { check, failOpen: true } })
    const request = modelRequest([toolResult('c1', 'odd'), user('rude')])
    expect(await failure(Promise.resolve(adapter.generate?.(request)))).toMatchObject({
      reason: 'content_filter',
    })
    expect(inner.calls).toEqual([])
  })

  test('of which an image cannot be judged is judged by its text and its other images', async () => {
    const judge: ModerationAdapter = {
      ...fakeModeration(),
      maxImages: 2,
      async moderate({ input, metadata }) {
        const sent = JSON.stringify(input)
        if (sent.includes('big')) throw new AdapterError('invalid_request', 'too large')
        const result = moderationResult(...(sent.includes('bad') ? ['sexual'] : []))
        return {
          requestId: 'r',
          provider: 'fake',
          flagged: result.flagged,
          results: [result],
          usage: {},
          warnings: [],
          metadata,
        }
      },
    }
    const { engine, inner } = guarded({ input: { check: judge, failOpen: true } })
    const image = (name: string) => imagePart(imageFromUrl(`https://example.com/${name}.png`))
    for (const parts of [
      [image('big'), image('bad')],
      [textPart('bad'), image('big')],
    ]) {
      expect(await failure(generate(engine, [user(parts)]))).toMatchObject({
        reason: 'content_filter',
      })
    }
    expect(inner.calls).toEqual([])
    expect((await generate(engine, [user([image('big')])])).outputText).toBe('Hello')
  })

  test('of a text file is what a function reads', async () => {
    const file = (mimeType: string): Part => ({
      type: 'file',
      file: { type: 'base64', mimeType, base64: btoa('a rude file') },
    })
    const { engine } = guarded({ input: ({ text }) => text.includes('rude') })
    for (const mimeType of ['text/plain', 'text/csv', 'application/json']) {
      expect(await failure(generate(engine, [user([file(mimeType)])]))).toMatchObject({
        reason: 'content_filter',
      })
    }
    expect((await generate(engine, [user([file('application/pdf')])])).outputText).toBe('Hello')
  })

  test('has the names of messages and files judged, which are sent, too', async () => {
    const judge = fakeModeration({ flag: rude })
    const { adapter, inner } = guarded({
      input: { check: judge, failOpen: ({ reason }) => reason === 'unsupported_feature' },
    })
    const named = (name: string): Message =>
      user([{ type: 'file', file: { type: 'url', url: 'https://example.com/a.pdf', name } }])
    for (const message of [named('rude.pdf'), { ...user('hi'), name: 'rude' }]) {
      const answer = Promise.resolve(adapter.generate?.(modelRequest([message])))
      expect(await failure(answer)).toMatchObject({ reason: 'content_filter' })
    }
    expect(judge.calls.map(({ request }) => request.input)).toEqual([['rude.pdf'], ['hi\nrude']])
    expect(inner.calls).toEqual([])
  })

  test('is refused by the thresholds of the caller', async () => {
    const scored = (violence: number) => ({ ...moderationResult(), scores: { violence } })
    const judge = fakeModeration({
      script: [
        ['ok', [{ ...moderationResult('hate'), scores: { violence: 0.1 } }]],
        ['ok', [scored(0.9)]],
      ],
    })
    const { engine } = guarded({
      input: { check: judge, flagged: ({ scores }) => (scores['violence'] ?? 1) > 0.5 },
    })
    expect((await generate(engine, 'a')).outputText).toBe('Hello')
    expect(await failure(generate(engine, 'b'))).toMatchObject({ reason: 'content_filter' })
  })

  test('is judged by a function, with what it may need', async () => {
    const seen: unknown[] = []
    const { engine } = guarded({
      input: (content, { where, request, requestId, signal }) => {
        seen.push([content, where, request.messages.length, requestId, signal.aborted])
        return { flagged: true, categories: { mine: true, other: false } }
      },
    })
    expect(await failure(generate(engine, 'hi', { requestId: 'r1' }))).toMatchObject({
      message: 'the guard has refused the input: mine',
      requestId: 'r1',
    })
    const content = { role: 'user', text: 'hi', parts: [{ type: 'text', text: 'hi' }] }
    expect(seen).toEqual([[content, 'input', 1, 'r1', false]])
  })

  test('is judged by moderate of an engine, too', async () => {
    const judges = createEngine({ moderationAdapter: fakeModeration({ flag: rude }) })
    const { engine } = guarded({ input: ({ text }) => moderate(judges, text) })
    expect(await failure(generate(engine, 'rude'))).toMatchObject({ reason: 'content_filter' })
    expect((await generate(engine, 'kind')).outputText).toBe('Hello')
  })
})

describe('a refused message', () => {
  const look = (ran: string[]) =>
    tool({
      name: 'look',
      description: 'Looks.',
      schema: {},
      handler: () => {
        ran.push('look')
        return 'a rude result'
      },
    })
  const asked = ({ calls }: ReturnType<typeof fake>) =>
    calls.map(({ request }) => request.messages.map((message) => messageText(message)))
  const hidden = 'This message was withheld by a content filter.'
  const hiddenResult = 'This result was withheld by a content filter.'

  test('fails its own run only, and is never sent, also after a restart', async () => {
    const store = memoryStore()
    const clock = virtualClock()
    const statuses: unknown[] = []
    const sent: unknown[] = []
    for (const words of ['hi', 'a rude word', 'sorry, the weather?', 'thank you']) {
      // A new process each time.
      const { engine, inner } = guarded({ input: fakeModeration({ flag: rude }) })
      const runs = createRuns({ engine, store, clock })
      await runs.send('ada', words)
      statuses.push((await runs.wait('ada')).session.status)
      sent.push(...asked(inner))
      await runs.close()
    }
    expect(statuses).toEqual(['completed', 'error', 'completed', 'completed'])
    expect(sent).toEqual([
      ['hi'],
      ['hi', 'Hello', hidden, 'sorry, the weather?'],
      ['hi', 'Hello', hidden, 'sorry, the weather?', 'Hello', 'thank you'],
    ])
  })

  test('of a tool fails the run until the user speaks, and its tool does not run again', async () => {
    const ran: string[] = []
    const call: Script = [['tool_call', { id: 'c1', name: 'look', arguments: {} }]]
    const judge = fakeModeration({ flag: rude })
    const inner = fake({ scripts: [call, hello, hello] })
    const adapter = guard(inner, { input: judge })
    const engine = createEngine({ adapter, tools: [look(ran)], instructions: 'Be kind.' })
    const { session } = await Session.start(engine, 'look!')
    expect(session).toMatchObject({
      status: 'error',
      error: { metadata: { guard: 'input', role: 'tool', message: 2, toolCallId: 'c1' } },
    })
    expect((await Session.resume(engine, session)).session.status).toBe('error')
    const replied = await Session.reply(engine, session, 'and?')
    expect(replied.session.status).toBe('completed')
    const loaded = JSON.parse(JSON.stringify(replied.session)) as typeof session
    expect((await Session.reply(engine, loaded, 'more')).session.status).toBe('completed')
    expect(ran).toEqual(['look'])
    expect(asked(inner).slice(1)).toEqual([
      ['Be kind.', 'look!', '', hiddenResult, 'and?'],
      ['Be kind.', 'look!', '', hiddenResult, 'and?', 'Hello', 'more'],
    ])
    inner.assertDone()
  })

  test('is withheld at once, if that is wanted, also after a restart', async () => {
    const ran: string[] = []
    const call: Script = [['tool_call', { id: 'c1', name: 'look', arguments: {} }]]
    const judge = fakeModeration({ flag: rude })
    const inner = fake({ scripts: [call, hello, hello] })
    const make = () => {
      const adapter = guard(inner, { input: { check: judge, onRefused: 'withhold' } })
      return createEngine({ adapter, tools: [look(ran)] })
    }
    const { session } = await Session.start(make(), 'a rude word')
    expect(session.status).toBe('completed')
    const loaded = JSON.parse(JSON.stringify(session)) as typeof session
    expect((await Session.reply(make(), loaded, 'more')).session.status).toBe('completed')
    expect(asked(inner)).toEqual([
      [hidden],
      [hidden, '', hiddenResult],
      [hidden, '', hiddenResult, 'Hello', 'more'],
    ])
    // Once in each process.
    expect(judge.calls.map(({ request }) => request.input)).toEqual([
      ['a rude word'],
      ['a rude result'],
      ['a rude word', 'a rude result', 'more'],
    ])
    expect(ran).toEqual(['look'])
  })

  test('that is withheld takes with it what cannot be judged', async () => {
    const { adapter, inner } = guarded({ input: fakeModeration({ flag: rude }) })
    const pdf: Part = {
      type: 'file',
      file: { type: 'base64', mimeType: 'application/pdf', base64: btoa('%PDF-1.7') },
    }
    const first: Message = { ...user([textPart('rude'), pdf]), name: 'Ada' }
    await adapter.generate?.(modelRequest([first, user('sorry')]))
    expect(inner.calls[0]?.request.messages).toEqual([
      { role: 'user', content: hidden },
      user('sorry'),
    ])
  })

  test('is found among others, if its judge refuses to read them together', async () => {
    const judge = fakeModeration()
    const check: ModerationAdapter = {
      ...judge,
      moderate(request, options) {
        const isRude = JSON.stringify(request.input).includes('rude')
        if (isRude) throw new AdapterError('content_filter', 'I cannot read this')
        return judge.moderate(request, options)
      },
    }
    const { adapter, inner } = guarded({ input: check })
    await adapter.generate?.(modelRequest([user('rude'), user('sorry')]))
    expect(asked(inner)).toEqual([[hidden, 'sorry']])
    expect(
      await failure(
        Promise.resolve(adapter.generate?.(modelRequest([user('sorry'), user('rude')]))),
      ),
    ).toMatchObject({ reason: 'content_filter', metadata: { message: 1 } })
  })

  test('is told to telemetry when it is withheld', async () => {
    const events: TelemetryEvent[] = []
    const stop = onTelemetry((event) => events.push(event))
    const { adapter } = guarded({ input: fakeModeration({ flag: rude }) })
    await adapter.generate?.(modelRequest([user('rude'), user('sorry')]))
    stop()
    expect(events).toMatchObject([{ name: 'guard', from: 'input', to: 'withheld' }])
  })
})

describe('a check that fails', () => {
  const broken = new Error('out of order')

  test.each<[string, GuardOptions['input'], object]>([
    [
      'because its provider is down',
      fakeModeration({ script: [['error', new AdapterError('provider_unavailable', 'down')]] }),
      { kind: 'adapter', reason: 'provider_unavailable', message: 'down' },
    ],
    [
      'because its function throws',
      () => {
        throw broken
      },
      { kind: 'stream', reason: 'unknown', message: 'input.check threw: out of order' },
    ],
    [
      'because its function says nothing',
      (() => undefined) as never,
      {
        kind: 'stream',
        reason: 'unknown',
        message: expect.stringContaining('input.check must return true, false') as string,
      },
    ],
    [
      'because the thresholds say nothing',
      { check: fakeModeration(), flagged: (() => 1) as never },
      {
        kind: 'stream',
        reason: 'unknown',
        message: 'input.flagged must return true or false, not 1',
      },
    ],
    [
      'because the thresholds throw',
      {
        check: fakeModeration(),
        flagged: () => {
          throw broken
        },
      },
      { kind: 'stream', reason: 'unknown', message: 'input.flagged threw: out of order' },
    ],
    [
      'because it uses the library in a wrong way',
      () => moderate(createEngine({ moderationAdapter: fakeModeration() }), []),
      {
        kind: 'stream',
        reason: 'unknown',
        message: expect.stringContaining('input.check threw: ') as string,
      },
    ],
    [
      'because its provider gives no verdict',
      fakeModeration({ script: [['ok', []]] }),
      { kind: 'adapter', reason: 'malformed_response' },
    ],
  ])('%s fails the call', async (_name, input, expected) => {
    const { engine, inner } = guarded({ input })
    expect(await failure(generate(engine, 'hi'))).toMatchObject({
      ...expected,
      metadata: { guard: 'input' },
    })
    expect(inner.calls).toEqual([])
  })

  test('lets everything pass, if that is wanted, and judges it the next time', async () => {
    const script = [
      ['error', new AdapterError('provider_unavailable', 'down')],
      ['ok', [moderationResult('hate')]],
    ] as const
    const { adapter } = guarded({ input: { check: fakeModeration({ script }), failOpen: true } })
    const request = modelRequest('hi')
    expect((await adapter.generate?.(request))?.outputText).toBe('Hello')
    expect(await failure(Promise.resolve(adapter.generate?.(request)))).toMatchObject({
      reason: 'content_filter',
    })
  })

  test('passes only if failOpen says true, and not what will be true or false', async () => {
    const check = (): never => {
      throw broken
    }
    const failOpen = (async () => false) as never
    const { engine, inner } = guarded({ input: { check, failOpen } })
    expect(await failure(generate(engine, 'hi'))).toMatchObject({ reason: 'unknown' })
    expect(inner.calls).toEqual([])
  })

  test('because its own provider refuses to read it has refused it', async () => {
    const refuse = (): never => {
      throw new AdapterError('content_filter', 'I cannot read this')
    }
    const rule = { check: refuse, failOpen: true }
    for (const where of ['input', 'output'] as const) {
      const { engine } = guarded({ [where]: rule })
      expect(await failure(generate(engine, 'hi'))).toMatchObject({
        reason: 'content_filter',
        message: `the guard has refused the ${where}`,
        metadata: { guard: where, categories: [] },
      })
    }
  })

  test('is retried by the engine like any other failure', async () => {
    const judge = fakeModeration({
      script: [
        ['retry_until_call', 3],
        ['ok', [moderationResult()]],
      ],
    })
    const adapter = guard(fake({ script: hello }), { input: judge })
    const engine = createEngine({ adapter, clock: virtualClock() })
    expect((await generate(engine, 'hi')).outputText).toBe('Hello')
    judge.assertDone()
  })

  test('takes no longer than it may, and hears of it', async () => {
    let stopped: AbortSignal | undefined
    const never = (_content: GuardedContent, { signal }: { signal: AbortSignal }) => {
      stopped = signal
      return new Promise<boolean>(() => undefined)
    }
    const { engine, clock } = guarded({ input: never })
    expect(await failure(generate(engine, 'hi'))).toMatchObject({
      kind: 'adapter',
      reason: 'timeout',
      message: 'the check of the input took longer than 10000 ms (timeoutMs)',
      metadata: { guard: 'input' },
    })
    expect([stopped?.aborted, clock.now(), clock.pending]).toEqual([true, 10_000, 0])
    const open = guarded({ input: { check: never, timeoutMs: 50, failOpen: true } })
    expect((await generate(open.engine, 'hi')).outputText).toBe('Hello')
    expect(open.clock.now()).toBe(50)
  })

  test('is part of the time to the first content', async () => {
    const { engine, clock } = guarded({ input: () => new Promise(() => undefined) })
    expect(await failure(generate(engine, 'hi', { requestTimeoutMs: 100 }))).toMatchObject({
      reason: 'timeout',
      message: 'the check of the input took longer than 100 ms (requestTimeoutMs)',
      metadata: { guard: 'input' },
    })
    expect([clock.now(), clock.pending]).toEqual([100, 0])
  })

  test.each(['stopped', 'left'])('is ended when the call is %s', async (how) => {
    let heard: AbortSignal | undefined
    const { engine, clock, inner } = guarded({
      input: (_content, { signal }) => {
        heard = signal
        return new Promise(() => undefined)
      },
    })
    const controller = new AbortController()
    const stream = streamGenerate(engine, 'hi', { signal: controller.signal })
    const iterator = stream[Symbol.asyncIterator]()
    const first = iterator.next().catch(errorToJSON)
    await Promise.resolve()
    if (how === 'stopped') controller.abort()
    else await iterator.return?.()
    expect(await first).toMatchObject({ reason: 'cancelled' })
    expect([heard?.aborted, clock.pending, inner.calls.length]).toEqual([true, 0, 0])
  })
})

/** The events of a stream, and the text that was shown. */
async function shown(stream: AsyncIterable<StreamEvent>) {
  const events: StreamEvent[] = []
  const error = await (async () => {
    for await (const event of stream) events.push(event)
    return undefined
  })().catch(errorToJSON)
  const text = events
    .flatMap((event) => (event.type === 'text_delta' ? [event.delta] : []))
    .join('')
  return { events, types: events.map(({ type }) => type), text, last: events.at(-1), error }
}

/** An answer in pieces, one after the other. */
function pieces(...texts: readonly string[]): Script {
  return [
    ...texts.flatMap((text): Script => [
      ['text', text],
      ['delay', 10],
    ]),
    ['finish', 'stop'],
  ]
}

describe('the output', () => {
  const judged = (rule: Partial<OutputGuard>, script: Script) => {
    const judge = fakeModeration({ flag: rude })
    const options = { output: { check: judge, ...rule } }
    return { judge, ...guarded(options, { script: () => script }) }
  }

  test('that passes is what it is without a guard', async () => {
    const script: Script = [
      ['reasoning', 'Hm.', { opaque: 'sig' }],
      ['text', 'Hel'],
      ['delay', 10],
      ['text', 'lo'],
      ['tool_call', { id: 'c1', name: 'look', arguments: { at: 'it' } }],
      ['usage', { inputTokens: 3, outputTokens: 2 }],
      ['finish', 'tool_calls'],
    ]
    const bare = createEngine({ adapter: fake({ script }), clock: virtualClock() })
    const options = { requestId: 'r1' }
    const expected = await collectEvents(streamGenerate(bare, 'hi', options))
    for (const rule of [{}, { every: 1 }, { hold: true }, { hold: true, every: 3 }]) {
      const { engine } = judged(rule, script)
      expect(await collectEvents(streamGenerate(engine, 'hi', options))).toEqual(expected)
    }
  })

  test('is cut where a passage is refused', async () => {
    const { engine, inner, clock } = judged(
      { every: 4 },
      pieces('kind ', 'rude ', 'more ', 'and ', 'more'),
    )
    const { types, last, text } = await shown(streamGenerate(engine, 'hi'))
    expect(last).toMatchObject({
      type: 'error',
      error: {
        reason: 'content_filter',
        message: 'the guard has refused the output: harassment',
        metadata: { guard: 'output', role: 'assistant', categories: ['harassment'] },
      },
    })
    expect(types).not.toContain('message_completed')
    expect(text).toBe('kind rude ')
    expect([inner.openStreams, clock.pending]).toEqual([0, 0])
  })

  test('that was shown is in the partial result of the error', async () => {
    const { engine } = judged({ every: 4 }, pieces('kind ', 'rude ', 'more '))
    expect(await failure(generate(engine, 'hi'))).toMatchObject({
      reason: 'content_filter',
      partial: { outputText: 'kind rude ' },
    })
    const held = judged({ every: 4, hold: true }, pieces('kind ', 'rude ', 'more '))
    expect(await failure(generate(held.engine, 'hi'))).toMatchObject({
      reason: 'content_filter',
      partial: { outputText: 'kind ' },
    })
  })

  test('is never shown before it was judged, if it is held', async () => {
    const { engine, inner } = judged({ every: 4, hold: true }, pieces('kind ', 'rude ', 'more '))
    const { text, last } = await shown(streamGenerate(engine, 'hi'))
    expect(text).toBe('kind ')
    expect(last).toMatchObject({ type: 'error', error: { reason: 'content_filter' } })
    expect(inner.openStreams).toBe(0)
  })

  test('that is refused before anything was shown rejects the call', async () => {
    for (const rule of [{ hold: true }, { hold: true, every: 1 }]) {
      const { engine } = judged(rule, pieces('rude ', 'kind'))
      const { events, error } = await shown(streamGenerate(engine, 'hi'))
      expect([events, error]).toMatchObject([[], { reason: 'content_filter' }])
    }
  })

  test('that comes together with its end is shown at once, but not its end', async () => {
    const clock = virtualClock()
    const check = async ({ text }: GuardedContent): Promise<boolean> => {
      await clock.sleep(500)
      return text.includes('rude')
    }
    for (const [words, end] of [
      ['kind', 'message_completed'],
      ['rude', 'error'],
    ] as const) {
      const script: Script = [
        ['text', words],
        ['finish', 'stop'],
      ]
      const adapter = guard(fake({ script }), { output: check })
      const start = clock.now()
      const seen: unknown[] = []
      for await (const { type } of streamGenerate(createEngine({ adapter, clock }), 'hi')) {
        seen.push([type, clock.now() - start])
      }
      expect(seen).toEqual([
        ['message_started', 0],
        ['text_delta', 0],
        ['text_completed', 0],
        [end, 500],
      ])
    }
  })

  test('is complete only when all of it was judged', async () => {
    const { engine } = judged({ every: Infinity }, pieces('kind ', 'and ', 'rude'))
    const { text, types, last } = await shown(streamGenerate(engine, 'hi'))
    expect(text).toBe('kind and rude')
    expect(types).not.toContain('message_completed')
    expect(last).toMatchObject({ type: 'error', error: { reason: 'content_filter' } })
  })

  test('is judged passage by passage, each with what came before it', async () => {
    const { judge, engine } = judged(
      { every: 6, hold: true },
      pieces('one ', 'two ', 'three ', 'four'),
    )
    await generate(engine, 'hi')
    expect(judge.calls.map(({ request }) => request.input)).toEqual([
      ['one two '],
      ['one two three '],
      ['one two three four'],
    ])
    const long = judged({ every: 500, hold: true }, pieces('a'.repeat(600), 'b'.repeat(600), 'c'))
    await generate(long.engine, 'hi')
    expect(long.judge.calls.map(({ request }) => request.input)).toEqual([
      ['a'.repeat(600)],
      ['a'.repeat(500) + 'b'.repeat(500), 'b'.repeat(600)],
      ['b'.repeat(500) + 'c'],
    ])
  })

  test.each([1, 400, 1000, Infinity])(
    'that comes in a burst is judged in bounded passages that overlap (every: %d)',
    async (every) => {
      const size = Math.max(every, 400)
      for (const length of [1, 399, 400, 401, 800, 801, 1200, 1201, 10_000]) {
        const text = Array.from({ length }, (_, at) => String.fromCharCode(0x4e00 + at)).join('')
        for (const hold of [true, false]) {
          const { judge, engine } = judged({ every, hold }, [
            ['text', text],
            ['finish', 'stop'],
          ])
          await generate(engine, 'hi')
          const [call, ...more] = judge.calls
          expect(more).toEqual([])
          const passages = (call?.request.input ?? []).map(String)
          expect(Math.max(...passages.map((one) => one.length))).toBeLessThanOrEqual(2 * size)
          // Whatever is no longer than a passage is seen whole.
          const longest = Math.min(size, length)
          for (let at = 0; at + longest <= length; at += 37) {
            const some = text.slice(at, at + longest)
            expect(passages.some((one) => one.includes(some))).toBe(true)
          }
          expect(passages.at(-1)?.at(-1)).toBe(text.at(-1))
        }
      }
    },
  )

  test('that is refused is never complete, wherever it is cut, and never shown whole if it is held', async () => {
    const word = 'rude'
    const piece = fc.record({
      kind: fc.constantFrom('text', 'reasoning', 'call'),
      text: fc.string({ maxLength: 12 }),
    })
    const scenario = fc.record({
      before: fc.array(piece, { maxLength: 6 }),
      after: fc.array(piece, { maxLength: 6 }),
      kind: fc.constantFrom('text', 'reasoning', 'call'),
      cuts: fc.subarray([1, 2, 3]),
      every: fc.constantFrom(1, 2, 5, 20, 400, Infinity),
      hold: fc.boolean(),
      waits: fc.boolean(),
      slow: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(scenario, async ({ before, after, kind, cuts, every, hold, ...when }) => {
        const clock = virtualClock()
        const bits = [0, ...cuts, word.length]
          .slice(1)
          .map((end, at) => word.slice([0, ...cuts][at], end))
        const middle = kind === 'call' ? [word] : bits
        const all = [...before, ...middle.map((text) => ({ kind, text })), ...after]
        const script = all.flatMap((one, at): Script => {
          const entry: Script =
            one.kind === 'call'
              ? [['tool_call', { id: `c${at}`, name: 'send', arguments: { text: one.text } }]]
              : [[one.kind === 'text' ? 'text' : 'reasoning', one.text]]
          return when.waits ? [...entry, ['delay', 5]] : entry
        })
        const check = async ({ text }: GuardedContent): Promise<boolean> => {
          if (when.slow) await clock.sleep(12)
          return text.includes(word)
        }
        const inner = fake({ script: [...script, ['finish', 'stop']] })
        const adapter = guard(inner, { output: { check, every, hold } })
        const engine = createEngine({ adapter, clock, retry: false })
        const { events, types, last, error } = await shown(streamGenerate(engine, 'hi'))
        expect(types).not.toContain('message_completed')
        const reason = last?.type === 'error' ? last.error.reason : error?.reason
        expect(reason).toBe('content_filter')
        if (hold) expect(JSON.stringify(events)).not.toContain(word)
        await nextTurn()
        expect([inner.openStreams, clock.pending]).toEqual([0, 0])
      }),
      { numRuns: 300 },
    )
  })

  test('whose check breaks in its own way shows nothing that is held', async () => {
    const check = (): never => {
      throw new Error('out of order')
    }
    const failOpen = (): never => {
      throw new Error('out of order, too')
    }
    const { engine } = guarded({ output: { check, failOpen, hold: true } })
    const { events, error } = await shown(streamGenerate(engine, 'hi'))
    expect([events, error]).toMatchObject([
      [],
      { message: expect.stringContaining('failOpen threw') },
    ])
  })

  test('has its reasoning, the arguments of its calls and its images judged', async () => {
    const image = { type: 'base64', mimeType: 'image/png', base64: 'iVBORw0KGgo=' } as const
    const scripts: readonly Script[] = [
      [['reasoning', 'a rude thought'], ...hello],
      [['tool_call', { id: 'c1', name: 'send', arguments: { text: 'a rude mail' } }]],
      [
        ['tool_call_delta', { id: 'c1', name: 'send', argumentsDelta: '{"text":"a rude ' }],
        ['tool_call_delta', { id: 'c1', argumentsDelta: 'mail"}' }],
        ['finish', 'tool_calls'],
      ],
      [
        ['image', image],
        ['finish', 'stop'],
      ],
    ]
    for (const script of scripts) {
      for (const hold of [true, false]) {
        const check = fakeModeration({
          flag: (text, images) => (text.includes('rude') || images.length > 0 ? ['hate'] : []),
        })
        const { engine } = guarded({ output: { check, hold } }, { script })
        expect(await failure(generate(engine, 'hi'))).toMatchObject({ reason: 'content_filter' })
      }
    }
  })

  test('has the titles and the passages of its sources judged, each once', async () => {
    const url = 'https://example.com'
    const kind = { type: 'url', url, title: 'A page', text: 'kind words' } as const
    const cited = (source: Source): readonly Script[] => [
      [
        ['text', 'fine', { more: true }],
        ['text_end', { sources: [kind, source] }],
        ['finish', 'stop'],
      ],
      [
        ['text', 'fine'],
        ['finish', 'stop', { sources: [kind, source] }],
      ],
    ]
    for (const hold of [true, false]) {
      for (const source of [
        { ...kind, text: 'a rude passage' },
        { ...kind, title: 'a rude title' },
      ]) {
        for (const script of cited(source)) {
          const { engine } = judged({ hold }, script)
          expect(await failure(generate(engine, 'hi'))).toMatchObject({ reason: 'content_filter' })
        }
      }
      for (const script of cited(kind)) {
        const { engine, judge } = judged({ hold }, script)
        await generate(engine, 'hi')
        expect(judge.calls.flatMap<unknown>(({ request }) => request.input)).toEqual(
          expect.arrayContaining(['fine', 'A page\nkind words\n']),
        )
      }
    }
  })

  test('is judged as it is in the end, whatever came in pieces', async () => {
    const call = { id: 'c1', name: 'send', arguments: { text: 'rude' } }
    const start: ModelEvent = { type: 'message_started', requestId: 'r', provider: 'own' }
    const end = (message: Message): ModelEvent => ({
      type: 'message_completed',
      message,
      finishReason: 'stop',
    })
    const kind = end({ role: 'assistant', content: 'kind' })
    const answers: readonly (readonly ModelEvent[])[] = [
      [start, { type: 'text_completed', text: 'rude' }, kind],
      [start, { type: 'reasoning_completed', text: 'rude' }, kind],
      [start, { type: 'text_delta', delta: 'kind' }, end({ role: 'assistant', content: 'rude' })],
      [start, end({ role: 'assistant', content: '', toolCalls: [call] })],
      // A text may be written in many ways.
      [
        start,
        { type: 'tool_call_started', id: 'c1', name: 'send' },
        { type: 'tool_call_delta', id: 'c1', argumentsDelta: '{"text":"\\u0072ude"}' },
        {
          type: 'tool_call_completed',
          call: { ...call, rawArguments: '{"text":"\\u0072ude"}' },
        },
        kind,
      ],
      // Two calls with one id.
      [
        start,
        { type: 'tool_call_completed', call: { ...call, arguments: { text: 'kind' } } },
        { type: 'tool_call_completed', call },
        kind,
      ],
      // An answer that replaces another one, with the same id.
      [
        start,
        { type: 'tool_call_completed', call: { ...call, arguments: {} } },
        start,
        { type: 'tool_call_completed', call },
        kind,
      ],
      // Two blocks at once.
      [
        start,
        { type: 'text_delta', delta: 'ru', index: 0 },
        { type: 'text_delta', delta: 'x', index: 1 },
        { type: 'text_delta', delta: 'de', index: 0 },
        { type: 'text_completed', text: 'rude', index: 0 },
        kind,
      ],
    ]
    for (const events of answers) {
      for (const hold of [true, false]) {
        const own: ChatAdapter = {
          provider: 'own',
          async *stream() {
            for (const event of events) yield [event]
          },
        }
        const adapter = guard(own, { output: { check: fakeModeration({ flag: rude }), hold } })
        const { types, last, error } = await shown(
          streamGenerate(createEngine({ adapter, retry: false }), 'hi'),
        )
        expect(types).not.toContain('message_completed')
        expect(last?.type === 'error' ? last.error.reason : error?.reason).toBe('content_filter')
      }
    }
  })

  test('of a call is refused before its tool runs', async () => {
    const ran: unknown[] = []
    const send = tool({
      name: 'send',
      description: 'Sends.',
      schema: {},
      handler: (given) => {
        ran.push(given)
        return 'sent'
      },
    })
    const script: Script = [['tool_call', { id: 'c1', name: 'send', arguments: { a: 'rude' } }]]
    const adapter = guard(fake({ script }), { output: fakeModeration({ flag: rude }) })
    const engine = createEngine({ adapter, tools: [send] })
    expect(await failure(chat(engine, 'hi'))).toMatchObject({ reason: 'content_filter' })
    expect(ran).toEqual([])
  })

  test('that breaks off keeps what may be shown', async () => {
    const script: Script = [
      ['text', 'kind '],
      ['delay', 10],
      ['text', 'words'],
      ['error', 'network_error'],
    ]
    const { engine } = judged({ hold: true }, script)
    const { text, last } = await shown(streamGenerate(engine, 'hi'))
    expect(text).toBe('kind words')
    expect(last).toMatchObject({ type: 'error', error: { reason: 'network_error' } })
    const bad = judged({ hold: true }, [
      ['text', 'rude'],
      ['error', 'network_error'],
    ])
    const { events, error } = await shown(streamGenerate(bad.engine, 'hi'))
    expect([events, error]).toMatchObject([[], { reason: 'content_filter' }])
  })

  test.each<[string, Script]>([
    ['was refused', pieces('kind words. ', 'rude words. ', 'more')],
    [
      'broke off before it was judged',
      [
        ['text', 'rude'],
        ['delay', 10],
        ['error', 'network_error'],
      ],
    ],
    [
      'has a call that was refused',
      [
        ['reasoning', 'Hm.', { opaque: 'sig' }],
        ['tool_call', { id: 'c1', name: 'look', arguments: { at: 'rude' } }],
        ['delay', 10],
        ['finish', 'tool_calls'],
      ],
    ],
  ])('that %s is not sent back', async (_name, script) => {
    const judge = fakeModeration({ flag: rude })
    const inner = fake({ scripts: [script, hello, hello] })
    const look = tool({ name: 'look', description: 'Looks.', schema: {}, handler: () => 'seen' })
    const make = () =>
      createEngine({
        adapter: guard(inner, { output: { check: judge, every: 10 } }),
        clock: virtualClock(),
        retry: false,
        tools: [look],
      })
    const { session } = await Session.start(make(), 'hi')
    expect(JSON.stringify(session.thread)).toContain('rude')
    const engine = make()
    const { session: next } = await Session.reply(engine, session, 'and?')
    expect(next.status).toBe('completed')
    const before = judge.calls.length
    expect((await Session.reply(engine, next, 'more')).session.status).toBe('completed')
    // The cut answer is judged once in a process.
    expect(judge.calls.length - before).toBe(1)
    const [, ...sent] = inner.calls
    expect(sent).toHaveLength(2)
    expect(JSON.stringify(sent.map(({ request }) => request.messages))).not.toContain('rude')
    expect(sent[0]?.request.messages[1]).toMatchObject({
      role: 'assistant',
      content: 'This message was withheld by a content filter.',
    })
  })

  test('that was cut off is sent back, if it may be shown', async () => {
    const script: Script = [
      ['text', 'kind'],
      ['delay', 10],
      ['error', 'network_error'],
    ]
    const inner = fake({ scripts: [script, hello] })
    const adapter = guard(inner, { output: fakeModeration({ flag: rude }) })
    const engine = createEngine({ adapter, clock: virtualClock(), retry: false })
    const { session } = await Session.start(engine, 'hi')
    await Session.reply(engine, session, 'and?')
    expect(inner.calls[1]?.request.messages[1]).toMatchObject({ content: 'kind' })
  })

  test('is read on while a passage is judged, and is cut while nothing comes', async () => {
    const clock = virtualClock()
    const inner = fake({
      script: [
        ['text', 'rude '],
        ['delay', 10],
        ['text', 'more '],
        ['delay', 60_000],
        ['finish', 'stop'],
      ],
    })
    const check = async ({ text }: GuardedContent): Promise<boolean> => {
      await clock.sleep(500)
      return text.includes('rude')
    }
    const adapter = guard(inner, { output: { check, every: 1 } })
    const { text, last } = await shown(streamGenerate(createEngine({ adapter, clock }), 'hi'))
    expect(text).toBe('rude more ')
    expect(last).toMatchObject({ type: 'error', error: { reason: 'content_filter' } })
    expect([clock.now(), inner.openStreams, clock.pending]).toEqual([500, 0, 0])
  })

  test('whose check fails ends with that error, or passes', async () => {
    const check = (): never => {
      throw new Error('out of order')
    }
    for (const hold of [true, false]) {
      const { engine } = guarded({ output: { check, hold } })
      expect(await failure(generate(engine, 'hi'))).toMatchObject({
        message: 'output.check threw: out of order',
        metadata: { guard: 'output' },
      })
      const open = guarded({ output: { check, hold, failOpen: true } })
      expect((await generate(open.engine, 'hi')).outputText).toBe('Hello')
    }
  })

  test.each(['stopped', 'left'])(
    'that is %s ends the check, and leaves nothing behind',
    async (how) => {
      let heard: AbortSignal | undefined
      const { engine, clock, inner } = guarded(
        {
          output: {
            every: 1,
            check: (_content, { signal }) => {
              heard = signal
              return new Promise(() => undefined)
            },
          },
        },
        { script: () => pieces('one', 'two', 'three') },
      )
      const controller = new AbortController()
      for await (const event of streamGenerate(engine, 'hi', { signal: controller.signal })) {
        if (event.type !== 'text_delta') continue
        if (how === 'left') break
        controller.abort()
      }
      await nextTurn()
      expect([heard?.aborted, clock.pending, inner.openStreams]).toEqual([true, 0, 0])
    },
  )

  test('of two providers is judged, also after a switch', async () => {
    const a = renamed('alpha', {
      script: [
        ['text', 'kind '],
        ['error', 'provider_unavailable'],
      ],
    })
    const b = renamed('beta', { script: pieces('kind ', 'rude') })
    const both = fallback([a, b], { afterFirstEvent: true })
    const adapter = guard(both, { output: fakeModeration({ flag: rude }) })
    const engine = createEngine({ adapter, clock: virtualClock(), retry: false })
    expect(await failure(generate(engine, 'hi'))).toMatchObject({ reason: 'content_filter' })
  })
})

describe('keys', () => {
  const answer = () => json({ results: [{ flagged: false, categories: {}, category_scores: {} }] })
  const key = { required: true, own: false }

  function keyed(place: Partial<ChatAdapter> & { readonly provider: string }) {
    const { fetch, calls } = stubFetch(answer)
    const { provider, ...facts } = place
    const inner = renamed(provider, { script: hello }, { key, ...facts })
    const adapter = guard(inner, { input: openaiModeration({ fetch }) })
    return { inner, adapter, sent: () => calls.map(({ headers }) => headers.get('authorization')) }
  }

  test('of each provider are found by the keys of the engine', async () => {
    const { inner, adapter, sent } = keyed({ provider: 'alpha' })
    expect(adapter.providers).toEqual(['alpha', 'openai'])
    const engine = createEngine({ adapter, keys: { alpha: 'a-key', openai: 'o-key' } })
    await generate(engine, 'hi')
    expect([inner.seen[0]?.apiKey, sent()]).toEqual(['a-key', ['Bearer o-key']])
  })

  test('of a call, and its headers, are for the guarded adapter', async () => {
    const { inner, adapter, sent } = keyed({ provider: 'alpha' })
    const engine = createEngine({ adapter, keys: { openai: 'o-key' } })
    await generate(engine, 'hi', { apiKey: 'call-key', headers: { 'x-a': '1' } })
    expect(inner.seen).toMatchObject([{ apiKey: 'call-key', headers: { 'x-a': '1' } }])
    expect(sent()).toEqual(['Bearer o-key'])
  })

  test('of a call are for a moderation adapter at the same address, too', async () => {
    const server = 'https://api.openai.com'
    const same = keyed({ provider: 'openai', server })
    await generate(createEngine({ adapter: same.adapter, keys: {} }), 'hi', { apiKey: 'call-key' })
    expect(same.sent()).toEqual(['Bearer call-key'])
    const other = keyed({ provider: 'openai', server: 'https://gateway.example' })
    const engine = createEngine({ adapter: other.adapter, keys: { openai: 'o-key' } })
    await generate(engine, 'hi', { apiKey: 'call-key' })
    expect(other.sent()).toEqual(['Bearer o-key'])
  })

  test('that are missing fail the call', async () => {
    const { adapter, inner } = keyed({ provider: 'alpha' })
    const engine = createEngine({ adapter, keys: { alpha: 'a-key' }, retry: false })
    expect(await failure(generate(engine, 'hi'))).toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
      provider: 'openai',
    })
    expect(inner.seen).toEqual([])
  })
})

test('verdicts are told to telemetry, without content', async () => {
  const events: TelemetryEvent[] = []
  const stop = onTelemetry((event) => events.push(event))
  const { engine } = guarded({ input: fakeModeration(), output: () => true })
  await failure(generate(engine, 'secret words'))
  const open = guarded({
    input: {
      check: () => {
        throw new Error('x')
      },
      failOpen: true,
    },
  })
  await generate(open.engine, 'secret words')
  stop()
  const told = events.filter(({ name }) => name === 'guard')
  expect(told).toMatchObject([
    { from: 'input', to: 'passed' },
    { from: 'output', to: 'flagged' },
    { from: 'input', to: 'failed', error: { reason: 'unknown' } },
  ])
  expect(told.every(({ spanId }) => spanId !== '')).toBe(true)
  expect(JSON.stringify(told)).not.toContain('secret')
})

test('two guards of one store of answers do not share them', () => {
  const plain = fake()
  const identities = [
    guard(plain, { input: () => false }),
    guard(plain, { output: () => false }),
    fallback([plain]),
  ].map(({ identity }) => JSON.stringify(identity?.()))
  expect(new Set(identities).size).toBe(3)
})

describe('options', () => {
  const needy: ModerationAdapter = { ...fakeModeration(), needsModel: true }

  test.each<[unknown, string]>([
    [{}, ''],
    [{ input: 'openai' }, 'input'],
    [{ input: fake() }, 'input'],
    [{ input: { roles: ['user'] } }, 'input.check'],
    [{ input: { check: fakeModeration(), roles: ['users'] } }, 'input.roles[0]'],
    [{ input: { check: fakeModeration(), roles: [] } }, 'input.roles'],
    [{ input: { check: fakeModeration(), hold: true } }, 'input'],
    [{ input: { check: fakeModeration(), onRefused: 'drop' } }, 'input.onRefused'],
    [{ input: { check: () => false, flagged: () => true } }, 'input.flagged'],
    [{ input: { check: () => false, failOpen: 'yes' } }, 'input.failOpen'],
    [{ output: { check: () => false, every: 0 } }, 'output.every'],
    [{ output: { check: () => false, timeoutMs: -1 } }, 'output.timeoutMs'],
    [{ output: needy }, 'output'],
    [{ outputs: () => false }, ''],
  ])('%o are refused', (options, path) => {
    const make = () => guard(fake(), options as GuardOptions)
    expect(make).toThrow(ValidationError)
    try {
      make()
    } catch (error) {
      expect((error as ValidationError).issues[0]?.path).toBe(path)
    }
  })
})

test('a guard without a judge says what it needs', () => {
  expect(() => guard(fake(), {})).toThrow(
    'need input, output or both: without them nothing is judged',
  )
})
