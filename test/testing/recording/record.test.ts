import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import {
  AdapterError,
  createEngine,
  filePart,
  fileFromBytes,
  generate,
  imageFromBase64,
  imagePart,
  modelRequest,
  streamGenerate,
  system,
  textPart,
  tool,
  chat,
  user,
  type AllmError,
  type ModelRequest,
} from '../../../src/index.ts'
import {
  cassetteFile,
  fallback,
  parseCassette,
  record,
  redactCassette,
  replay,
  stringifyCassette,
  type Cassette,
  type RecordOptions,
} from '../../../src/middleware.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { registerAround } from '../../middleware/harnesses.ts'
import { renamed } from '../../middleware/renamed.ts'

describe('record keeps the contract of adapters', () => {
  registerAround('openai_responses', (adapter) =>
    record(adapter, { sink: () => undefined, onProblem: rethrow }),
  )
})

function rethrow(problem: AllmError): never {
  throw problem
}

const hello: Script = [
  ['text', 'Hel'],
  ['text', 'lo.'],
  ['finish', 'stop'],
]

const request = modelRequest([user('Say hello.')])

/** A recorder of these scripts, and everything that it wrote and reported. */
function recording(scripts: readonly Script[], options: RecordOptions = {}) {
  const written: Cassette[] = []
  const problems: AllmError[] = []
  const adapter = record(fake({ scripts }), {
    sink: (cassette) => void written.push(cassette),
    onProblem: (problem) => void problems.push(problem),
    ...options,
  })
  return { adapter, written, problems, engine: createEngine({ adapter, retry: false }) }
}

async function read(adapter: ChatAdapter, asked: ModelRequest = request, options = {}) {
  const batches: (readonly ModelEvent[])[] = []
  for await (const batch of adapter.stream(asked, options)) batches.push(batch)
  return batches
}

describe('the events', () => {
  test('pass as they are, in the same batches', async () => {
    const batches: (readonly ModelEvent[])[] = [
      [
        { type: 'message_started', requestId: 'r', provider: 'mine' },
        { type: 'text_delta', delta: 'a' },
      ],
      [
        { type: 'text_completed', text: 'a' },
        {
          type: 'message_completed',
          message: { role: 'assistant', content: 'a' },
          finishReason: 'stop',
        },
      ],
    ]
    const adapter = record({
      provider: 'mine',
      async *stream() {
        yield* batches
      },
    })
    const passed = await read(adapter)
    expect(passed).toHaveLength(2)
    passed.forEach((batch, at) => expect(batch).toBe(batches[at]))
  })

  test('are not asked for before the first next()', () => {
    const { adapter, written } = recording([hello])
    adapter.stream(request)
    expect(written).toEqual([])
    expect(adapter.cassette.calls).toEqual([])
  })

  test('that no message is made of are reported, and written as near as possible', async () => {
    const problems: string[] = []
    const adapter = record(
      {
        provider: 'mine',
        async *stream() {
          yield [
            { type: 'message_started', requestId: 'r', provider: 'mine' },
            { type: 'tool_call_delta', id: 'c1', argumentsDelta: '{}' },
            {
              type: 'message_completed',
              message: { role: 'assistant', content: '' },
              finishReason: 'stop',
            },
          ]
        },
      },
      { onProblem: ({ message }) => void problems.push(message) },
    )
    await read(adapter)
    expect(problems).toEqual([
      'call 1 of the recording is not exact: event 2, tool_call_delta, is not one that a message is made of',
    ])
    expect(adapter.cassette.calls).toHaveLength(1)
  })
})

describe('the sink', () => {
  test('gets the request before there is an answer, and then both', async () => {
    const { adapter, written } = recording([hello, hello])
    await read(adapter)
    expect(written.map(({ calls }) => calls.length)).toEqual([1, 1])
    expect(written[0]?.calls[0]).toMatchObject({ request, cut: true })
    expect(written[1]?.calls[0]).toEqual({
      provider: 'fake',
      request,
      script: [['start', {}], ...hello],
    })
    await read(adapter)
    expect(written.at(-1)?.calls).toHaveLength(2)
    expect(written.at(-1)).toEqual(adapter.cassette)
  })

  test('is awaited at the end of a call, and by nothing else', async () => {
    const clock = virtualClock()
    const order: string[] = []
    const { adapter } = recording([hello], {
      sink: async ({ calls }) => {
        await clock.sleep(50)
        order.push(calls[0]?.cut === true ? 'request' : 'answer')
      },
    })
    for await (const _ of adapter.stream(request)) order.push('batch')
    order.push('end')
    expect(order).toEqual(['batch', 'request', 'answer', 'end'])
  })

  test('that fails does not fail the call, and is told about', async () => {
    let calls = 0
    const { adapter, problems, engine } = recording([hello, hello], {
      sink() {
        if (++calls <= 2) throw new Error('the disk is full')
      },
    })
    expect((await generate(engine, 'go')).outputText).toBe('Hello.')
    expect(problems.map(({ message }) => message)).toEqual([
      'the cassette could not be written: the disk is full',
      'the cassette could not be written: the disk is full',
    ])
    await expect(adapter.saved()).rejects.toThrow('the disk is full')
    await generate(engine, 'go')
    await adapter.saved()
  })

  test('that writes a file replaces it as a whole', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cassette-'))
    try {
      const path = join(folder, 'run.json')
      const { adapter } = recording([hello, hello], { sink: cassetteFile(path) })
      await Promise.all([read(adapter), read(adapter)])
      expect(await readdir(folder)).toEqual(['run.json'])
      expect(parseCassette(await readFile(path, 'utf8'))).toEqual(adapter.cassette)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  // Windows has no such permissions.
  test.skipIf(process.platform === 'win32')(
    'in a new file is for its owner only, and a file that exists keeps its permissions',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'cassette-'))
      try {
        const path = join(folder, 'run.json')
        const modes: string[] = []
        for (const mode of [undefined, 0o664]) {
          if (mode !== undefined) await chmod(path, mode)
          const { adapter } = recording([hello], { sink: cassetteFile(path) })
          await read(adapter)
          modes.push(((await stat(path)).mode & 0o777).toString(8))
        }
        expect(modes).toEqual(['600', '664'])
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  test('that cannot write its file says so', async () => {
    const { adapter, problems } = recording([hello], {
      sink: cassetteFile(join(tmpdir(), 'no-such-folder', 'run.json')),
    })
    await read(adapter)
    expect(problems[0]?.message).toMatch('the cassette could not be written: ENOENT')
  })
})

describe('a key', () => {
  const key = 'a key like no other: 7Hq'

  test.each<readonly [string, Script]>([
    ['in the answer', [['text', `You sent ${key}.`]]],
    [
      'in two pieces',
      [
        ['text', `You sent ${key.slice(0, 9)}`],
        ['text', `${key.slice(9)}.`],
      ],
    ],
    ['in reasoning', [['reasoning', `The key is ${key}.`]]],
    ['in opaque data', [['reasoning', 'Hm.', { opaque: { echo: key } }]]],
    ['in arguments', [['tool_call', { id: 'c', name: 'n', arguments: { [key]: [key] } }]]],
    [
      'in the pieces of arguments',
      [
        ['tool_call_delta', { id: 'c', name: 'n', argumentsDelta: '{"q":"a key like' }],
        ['tool_call_delta', { id: 'c', argumentsDelta: ' no other: 7Hq"}' }],
      ],
    ],
    ['in an item', [['reasoning', '', { item: { type: 'search', query: key } }]]],
    [
      'in a raw chunk',
      [
        ['raw_chunk', { echo: key }],
        ['text', 'Hi.'],
      ],
    ],
    [
      'in an error',
      [
        ['text', 'a'],
        ['error', key],
      ],
    ],
    ['in a refusal', [['preflight_error', 'authentication_failed', { message: `bad ${key}` }]]],
  ])('%s never reaches a cassette', async (_name, script) => {
    const { adapter, problems } = recording([script])
    const asked = modelRequest(
      [system(`The key is ${key}`), user(`Use ${encodeURIComponent(key)}`)],
      {
        metadata: { key },
      },
    )
    await read(adapter, asked, { apiKey: key, includeRawChunks: true }).catch(() => undefined)
    const text = stringifyCassette(adapter.cassette)
    expect(problems).toEqual([])
    expect(text).toContain('[redacted]')
    expect(text).not.toContain(key)
    expect(text).not.toContain('7Hq')
  })

  test('in a header is one too', async () => {
    const { adapter } = recording([[['text', 'I saw tok-9f8e7d6c5b4a3210.']]])
    await read(adapter, modelRequest([user('tok-9f8e7d6c5b4a3210')]), {
      headers: { authorization: 'Bearer tok-9f8e7d6c5b4a3210', 'x-team': 'blue' },
    })
    expect(stringifyCassette(adapter.cassette)).not.toContain('tok-9f')
  })

  test('of any call is known by its look', async () => {
    const { adapter } = recording([
      [
        ['text', 'Try sk-ant-api03-AAAA'],
        ['text', 'BBBBCCCC instead.'],
      ],
    ])
    await read(adapter, modelRequest([user('My key is AIzaSyA1234567890abcdefg.')]))
    const [call] = adapter.cassette.calls
    expect(call?.request.messages[0]?.content).toBe('My key is [redacted].')
    expect(call?.script.slice(1)).toEqual([
      ['text', 'Try [redacted]'],
      ['text', ' instead.'],
      ['finish', 'stop'],
    ])
  })

  test('is not seen in words', async () => {
    const text =
      'A **basic** understanding: ***note*** the bearer certificates of basic authentication.'
    const { adapter } = recording([[['text', text]]])
    await read(adapter, modelRequest([user(text)]))
    expect(adapter.cassette.calls[0]?.request.messages[0]?.content).toBe(text)
    expect(adapter.cassette.calls[0]?.script[1]).toEqual(['text', text])
  })
})

describe('redact', () => {
  const lookup = tool({
    name: 'lookup',
    description: 'Finds a customer by email.',
    schema: {
      type: 'object',
      properties: { email: { type: 'string' } },
      required: ['email'],
    },
    handler: ({ email }) => ({ name: 'Ann', Email: email, cards: [{ iban: 'BE71 0961', n: 3 }] }),
  })
  const scripts: readonly Script[] = [
    [
      ['tool_call_delta', { id: 'c1', name: 'lookup', argumentsDelta: '{"email": "ann@' }],
      ['tool_call_delta', { id: 'c1', argumentsDelta: 'example.com"}' }],
      ['tool_call', { id: 'c1', name: 'lookup' }],
    ],
    [
      ['text', 'I found ann@exa'],
      ['text', 'mple.com and bob@example.com'],
      ['text', ', both.'],
    ],
  ]
  const rules = { names: ['email', 'iban'], patterns: [/[\w.]+@[\w.]+/] }

  test('a pattern changes no name of a field, only those in data', () => {
    const request = modelRequest([user('e')], {
      temperature: 0.5,
      metadata: { tenant: 'e' },
      tools: [{ name: 'find', description: 'e', schema: { type: 'object' } }],
    })
    const call = { id: 'c', name: 'find', arguments: { secret_e: 'e' } }
    const script: Script = [
      ['tool_call', call],
      ['usage', { inputTokens: 1 }],
      ['finish', 'tool_calls'],
    ]
    const recorded: Cassette = { version: 1, calls: [{ provider: 'p', request, script }] }
    const [clean] = redactCassette(recorded, { patterns: [/e/] }).calls
    expect(Object.keys(clean?.request ?? {}).toSorted()).toEqual(Object.keys(request).toSorted())
    expect(clean?.request).toMatchObject({
      temperature: 0.5,
      metadata: { 't[redacted]nant': '[redacted]' },
      messages: [{ role: 'user', content: '[redacted]' }],
    })
    expect(clean?.script[0]).toMatchObject(['tool_call', { id: 'c', name: 'find', arguments: {} }])
    expect(clean?.script[1]).toEqual(['usage', { inputTokens: 1 }])
  })

  test('leaves out the values of names and the texts of patterns, in requests and answers', async () => {
    const adapter = record(fake({ scripts }), { redact: rules })
    const engine = createEngine({ adapter, tools: [lookup] })
    const { outputText } = await chat(engine, 'Who is ann@example.com?')
    expect(outputText).toBe('I found ann@example.com and bob@example.com, both.')
    const [first, second] = adapter.cassette.calls
    expect(first?.script.slice(1, 4)).toEqual([
      ['tool_call_delta', { id: 'c1', name: 'lookup', argumentsDelta: '{"email":"[redacted]' }],
      ['tool_call_delta', { id: 'c1', argumentsDelta: '"}' }],
      ['tool_call', { id: 'c1', name: 'lookup' }],
    ])
    expect(second?.script.slice(1, 3)).toEqual([
      ['text', 'I found [redacted] and [redacted]'],
      ['text', ', both.'],
    ])
    expect(second?.request.messages).toEqual([
      { role: 'user', content: 'Who is [redacted]?' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          {
            id: 'c1',
            name: 'lookup',
            arguments: { email: '[redacted]' },
            rawArguments: '{"email":"[redacted]"}',
          },
        ],
      },
      {
        role: 'tool',
        toolCallId: 'c1',
        content: '{"name":"Ann","Email":"[redacted]","cards":[{"iban":"[redacted]","n":3}]}',
      },
    ])
    // The schema is not a value.
    expect(first?.request.tools[0]?.schema['properties']).toEqual({ email: { type: 'string' } })
  })

  test('matches its own tape, though the rules are not given again', async () => {
    const adapter = record(fake({ scripts }), { redact: rules })
    await chat(createEngine({ adapter, tools: [lookup] }), 'Who is ann@example.com?')
    const player = replay(adapter.cassette)
    await chat(createEngine({ adapter: player, tools: [lookup] }), 'Who is ann@example.com?')
    player.assertDone()
  })
})

describe('what looks like another secret', () => {
  const secret = 'AKIAIOSFODNN7EXAMPLE'

  test('keeps the cassette from being written, and fails no call', async () => {
    const { adapter, engine, written, problems } = recording([hello, hello])
    await generate(engine, 'first')
    const before = written.length
    expect((await generate(engine, `Use ${secret}.`)).outputText).toBe('Hello.')
    expect(written).toHaveLength(before)
    expect(problems.map(({ message }) => message)).toEqual([
      'invalid script: calls[1].request.messages[0].content holds what looks like an AWS access key; name it in redact ({ names } or { patterns }), so that it is left out',
    ])
    await expect(adapter.saved()).rejects.toBe(problems[0])
    // Nothing is lost: it can be left out now.
    expect(() => stringifyCassette(adapter.cassette)).toThrow('looks like an AWS access key')
    const clean = redactCassette(adapter.cassette, { patterns: [/AKIA\w+/] })
    expect(parseCassette(stringifyCassette(clean)).calls).toHaveLength(2)
  })

  test('is left out with secrets: mask', async () => {
    const { adapter, engine, written } = recording(
      [
        [
          ['text', 'AKIAIOSF'],
          ['text', 'ODNN7EXAMPLE!'],
        ],
      ],
      {
        secrets: 'mask',
      },
    )
    await generate(engine, `Use ${secret}.`)
    await adapter.saved()
    expect(JSON.stringify(written.at(-1))).not.toMatch(/AKIA|ODNN/)
  })

  test.each([
    ['a GitHub token', `ghp_${'a1B2'.repeat(9)}`],
    ['a Slack token', 'xoxb-1234567890-abcdefghij'],
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----'],
    ['a password', 'password: hunter2hunter2'],
    ['a signed address', 'https://b.example/f?X-Amz-Signature=0123456789abcdef0123'],
  ])('%s is found, also in pieces', (name, text) => {
    const half = Math.floor(text.length / 2)
    const call = { provider: 'p', request, script: [] }
    const whole = { ...call, request: modelRequest([user(text)]) }
    const pieces: Script = [
      ['text', text.slice(0, half)],
      ['text', text.slice(half)],
    ]
    expect(() => stringifyCassette({ version: 1, calls: [whole] })).toThrow(
      `calls[0].request.messages[0].content holds what looks like ${name}`,
    )
    expect(() => stringifyCassette({ version: 1, calls: [{ ...call, script: pieces }] })).toThrow(
      `calls[0].script in the text holds what looks like ${name}`,
    )
  })
})

describe('an answer that was not read to its end', () => {
  test('is cut where its reader left', async () => {
    const slow: Script = [
      ['text', 'Hel'],
      ['delay', 10],
      ['text', 'lo.'],
    ]
    const { engine, adapter } = recording([slow])
    for await (const event of streamGenerate(engine, 'go')) {
      if (event.type === 'text_delta') break
    }
    expect(adapter.cassette.calls[0]).toMatchObject({
      cut: true,
      script: [
        ['start', {}],
        ['text', 'Hel'],
        [
          'failure',
          'cancelled',
          {
            kind: 'stream',
            message: 'the recording ends here: the answer was not read any further',
          },
        ],
      ],
    })
    const player = createEngine({ adapter: replay(adapter.cassette), retry: false })
    await expect(generate(player, 'go')).rejects.toMatchObject({
      reason: 'cancelled',
      partial: { outputText: 'Hel' },
    })
  })

  test('is cut where it was aborted, also before its first event', async () => {
    for (const script of [
      [
        ['text', 'Hel'],
        ['delay', 99],
        ['text', 'lo.'],
      ],
      [['delay', 99]],
    ] as const) {
      const { adapter } = recording([script])
      const stop = new AbortController()
      const clock = virtualClock({ auto: false })
      const ended = read(adapter, request, { signal: stop.signal, clock }).catch(() => undefined)
      await Promise.resolve()
      stop.abort()
      await ended
      expect(adapter.cassette.calls[0]).toMatchObject({ cut: true })
      const player = createEngine({ adapter: replay(adapter.cassette), retry: false })
      await expect(generate(player, 'Say hello.')).rejects.toMatchObject({ reason: 'cancelled' })
    }
  })

  test('is cut when the process dies: the request was written before', async () => {
    const { adapter, written } = recording([[['delay', 1e9]]])
    const stream = adapter.stream(request, { clock: virtualClock({ auto: false }) })
    const first = stream[Symbol.asyncIterator]().next()
    expect(first).toBeInstanceOf(Promise)
    expect(written.at(-1)?.calls[0]).toMatchObject({ request, cut: true })
  })
})

describe('a call', () => {
  test('that is refused is recorded with all that is known of its error', async () => {
    const script: Script = [
      [
        'preflight_error',
        'rate_limited',
        { status: 429, retryAfterMs: 9000, message: 'slow down' },
      ],
    ]
    const { adapter } = recording([script])
    await expect(read(adapter)).rejects.toBeInstanceOf(AdapterError)
    expect(adapter.cassette.calls[0]?.script).toEqual([
      ['failure', 'rate_limited', { message: 'slow down', status: 429, retryAfterMs: 9000 }],
    ])
  })

  test('whose adapter throws at once is recorded, too', async () => {
    const adapter = record({
      provider: 'mine',
      stream() {
        throw new TypeError('not today')
      },
    })
    await expect(read(adapter)).rejects.toThrow('not today')
    expect(adapter.cassette.calls[0]?.script).toMatchObject([
      ['failure', 'unknown', { kind: 'stream', message: 'not today' }],
    ])
  })

  test('may be recorded with its waits', async () => {
    const script: Script = [
      ['delay', 300],
      ['text', 'Hel'],
      ['delay', 40],
      ['text', 'lo.'],
    ]
    const { adapter } = recording([script, script], { timing: true })
    await read(adapter, request, { clock: virtualClock() })
    expect(adapter.cassette.calls[0]?.script).toEqual([
      ['delay', 300],
      ['start', {}],
      ['text', 'Hel'],
      ['delay', 40],
      ['text', 'lo.'],
      ['finish', 'stop'],
    ])
  })

  test('has the bytes of images and files as a length and a digest, which are matched', async () => {
    const [png, other] = ['iVBORw0KGgoAAAA=', 'iVBORw0KGgoAAAB=']
    const ask = (base64: string): ModelRequest =>
      modelRequest([
        user([
          textPart('What is it?'),
          imagePart(imageFromBase64(base64, 'image/png')),
          filePart(
            fileFromBytes(new Uint8Array([37, 80, 68, 70]), 'application/pdf', { name: 'a.pdf' }),
          ),
        ]),
      ])
    const { adapter } = recording([hello])
    await read(adapter, ask(png))
    expect(adapter.cassette.calls[0]?.request.messages[0]?.content).toEqual([
      { type: 'text', text: 'What is it?' },
      {
        type: 'image',
        image: {
          type: 'id',
          id: expect.stringMatching(/^11 bytes, digest [0-9a-f]{16}$/) as string,
          provider: 'cassette',
          mimeType: 'image/png',
        },
      },
      {
        type: 'file',
        file: {
          type: 'id',
          id: expect.stringMatching(/^a\.pdf, 4 bytes, digest [0-9a-f]{16}$/) as string,
          provider: 'cassette',
          mimeType: 'application/pdf',
        },
      },
    ])
    const text = stringifyCassette(adapter.cassette)
    await read(replay(text), ask(png))
    await expect(read(replay(text), ask(other))).rejects.toThrow('messages[0].content[1].image.id')
  })
})

test.each<readonly [unknown, string]>([
  [{ sinks: () => undefined }, 'unknown key sinks; did you mean sink?'],
  [{ redact: { name: ['a'] } }, 'redact unknown key name; did you mean names?'],
  [{ redact: { patterns: ['a'] } }, 'redact.patterns[0] must be a regular expression, not "a"'],
  [{ secrets: 'hide' }, 'secrets must be one of refuse, mask, not "hide"'],
])('the options %j are refused', (options, problem) => {
  expect(() => record(fake(), options as RecordOptions)).toThrow(problem)
})

describe('an answer that a fallback replaces in its middle', () => {
  const pair = () =>
    fallback(
      [
        renamed('first', {
          script: [
            ['text', 'half'],
            ['error', 'provider_unavailable'],
          ],
        }),
        renamed('second', { script: [['text', 'whole']] }),
      ],
      { afterFirstEvent: true },
    )

  test.each([false, true])(
    'is recorded as the answer that counted, and can be replayed (timing: %s)',
    async (timing) => {
      const problems: AllmError[] = []
      const recorder = record(pair(), { timing, onProblem: (problem) => problems.push(problem) })
      const answer = await generate(createEngine({ adapter: recorder }), [user('x')])
      const cassette = parseCassette(stringifyCassette(recorder.cassette))
      expect(cassette.calls[0]).toMatchObject({ provider: 'second' })
      const again = await generate(createEngine({ adapter: replay(cassette) }), [user('x')])
      expect(again.outputText).toBe('whole')
      expect(again.provider).toBe('second')
      expect(again.metadata).toEqual(answer.metadata)
      expect(problems.map(({ message }) => message)).toEqual([
        'call 1 of the recording is not exact: the answer broke off and another one replaced it, which is recorded alone',
      ])
      await recorder.saved()
    },
  )
})
