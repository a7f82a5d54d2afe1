import { Client as NewClient } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport as OldTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server as OldServer } from '@modelcontextprotocol/sdk/server/index.js'
import { McpServer as OldMcpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import {
  InMemoryTransport as NewTransport,
  McpServer as NewMcpServer,
  Server as NewServer,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { describe, expect, test } from 'vitest'
import {
  askUser,
  content,
  createEngine,
  fail,
  fileFromBase64,
  filePart,
  fileFromUrl,
  halt,
  handoff,
  imageFromBase64,
  imagePart,
  textPart,
  tool,
  type HandlerOptions,
  type Tool,
} from '../../../src/index.ts'
import { mcpTools, serveMcp, type ServeMcpOptions } from '../../../src/mcp.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { resultOfCall } from './pairs.ts'

const info = { name: 'test', version: '1.0.0' }
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** Answers the questions of a server. */
type Answer = (params: Readonly<Record<string, unknown>>) => object

/** How a server is reached: by which package, and in which protocol. */
const ways = ['server 2.4', 'server 2.4, protocol of 2026', 'sdk 1.32'] as const

/** Connects a client to a server that offers the tools. It can be asked if there is an answer. */
async function serving(
  way: (typeof ways)[number],
  tools: readonly Tool[],
  { answer, ...options }: ServeMcpOptions & { readonly answer?: Answer } = {},
): Promise<NewClient | OldClient> {
  const capabilities = answer === undefined ? {} : { elicitation: {} }
  if (way === 'sdk 1.32') {
    const [near, far] = OldTransport.createLinkedPair()
    const server = new OldMcpServer(info)
    serveMcp(tools, server, options)
    const client = new OldClient(info, { capabilities })
    if (answer !== undefined)
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params) as never)
    await Promise.all([server.connect(far), client.connect(near)])
    return client
  }
  const [near, far] = NewTransport.createLinkedPair()
  const factory = (): NewMcpServer => {
    const server = new NewMcpServer(info)
    serveMcp(tools, server, options)
    return server
  }
  const isModern = way !== 'server 2.4'
  const client = new NewClient(info, {
    capabilities,
    ...(isModern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}),
  })
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => answer(params) as never)
  if (isModern) serveStdio(factory, { transport: far })
  else await factory().connect(far)
  await client.connect(near)
  return client
}

/** A tool without arguments. */
function acting(
  handler: (args: object, options: HandlerOptions) => unknown,
  more: object = {},
): Tool {
  return tool({ name: 'act', description: 'Acts.', schema: { type: 'object' }, handler, ...more })
}

const call = (client: NewClient | OldClient, args: Record<string, unknown> = {}) =>
  client.callTool({ name: 'act', arguments: args })

describe.each(ways)('%s', (way) => {
  test('offers tools, and runs them with checked arguments', async () => {
    const add = tool({
      name: 'add',
      description: 'Adds.',
      schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      handler: ({ a }) => ({ sum: a + 1 }),
      idempotent: true,
    })
    const client = await serving(way, [add])
    const { tools } = await client.listTools()
    expect(tools).toMatchObject([
      {
        name: 'add',
        description: 'Adds.',
        inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        annotations: { idempotentHint: true },
      },
    ])
    const called = (a: unknown) => client.callTool({ name: 'add', arguments: { a } })
    expect(await called(2)).toMatchObject({
      content: [{ type: 'text', text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    })
    expect(await called('two')).toMatchObject({
      content: [
        { type: 'text', text: '{"error":"invalid arguments: a: must be a number, not \\"two\\""}' },
      ],
      isError: true,
    })
    await expect(client.callTool({ name: 'sub', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    })
  })

  test('its tools come back as tools, both ways', async () => {
    const client = await serving(way, [acting(() => 'hello')])
    expect(await resultOfCall(await mcpTools(client))).toBe('hello')
  })

  test('texts, images and files of a result are kept', async () => {
    const parts = [
      textPart('Here:'),
      imagePart(imageFromBase64(png)),
      filePart(fileFromBase64(btoa('RIFF\0\0\0\0WAVEfmt \0'), 'audio/wav')),
      filePart(fileFromBase64(btoa('%PDF-1.7 '), 'application/pdf', { name: 'a b.pdf' })),
      filePart(fileFromUrl('https://example.test/c.txt', 'text/plain')),
    ]
    const client = await serving(way, [acting(() => content(parts))])
    const result = await call(client)
    expect(result).toMatchObject({
      content: [
        { type: 'text', text: 'Here:' },
        { type: 'image', data: png, mimeType: 'image/png' },
        { type: 'audio', mimeType: 'audio/wav' },
        {
          type: 'resource',
          resource: { uri: 'attachment:a%20b.pdf', mimeType: 'application/pdf' },
        },
        { type: 'resource_link', uri: 'https://example.test/c.txt', name: 'file' },
      ],
    })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no luck')
      },
      '{"error":"the tool failed: no luck"}',
    ],
    ['fails', () => fail('no luck'), '{"error":"no luck"}'],
    ['asks to stop with a result', () => halt('enough', 'so far'), 'so far'],
    ['returns nothing', () => undefined, 'null'],
  ])('a handler that %s', async (title, handler, text) => {
    const result = await call(await serving(way, [acting(handler)]))
    expect(result).toMatchObject({ content: [{ type: 'text', text }] })
    expect('isError' in result && result.isError === true).toBe(
      title === 'throws' || title === 'fails',
    )
  })

  test('progress of a handler arrives', async () => {
    const handler = async (_args: object, { progress }: HandlerOptions) => {
      await progress({ progress: 0.5, total: 2, message: 'Half' })
      await progress(1)
      await progress('more')
      await progress({ step: 4 })
      return 'done'
    }
    const client = await serving(way, [acting(handler)])
    const told: unknown[] = []
    const options = { onprogress: (data: unknown) => void told.push(data) }
    const params = { name: 'act', arguments: {} }
    await (client instanceof OldClient
      ? client.callTool(params, undefined, options)
      : client.callTool(params, options))
    expect(told).toEqual([
      { progress: 0.5, total: 2, message: 'Half' },
      { progress: 1 },
      { progress: 3, message: 'more' },
      { progress: 4, message: '{"step":4}' },
    ])
    expect(await call(client)).toMatchObject({ content: [{ text: 'done' }] })
  })

  test('a call that the client cancels aborts the handler', async () => {
    const stop = new AbortController()
    const aborted = new Promise<void>((resolve) => {
      const handler = (_args: object, { signal }: HandlerOptions) =>
        new Promise(() => {
          signal.addEventListener('abort', () => resolve())
          stop.abort()
        })
      started = serving(way, [acting(handler)])
    })
    const client = await started
    const params = { name: 'act', arguments: {} }
    const { signal } = stop
    const calling =
      client instanceof OldClient
        ? client.callTool(params, undefined, { signal })
        : client.callTool(params, { signal })
    await expect(calling).rejects.toThrow()
    await aborted
  })
  let started: Promise<NewClient | OldClient>

  test('the deadline of a tool holds', async () => {
    const clock = virtualClock()
    const client = await serving(way, [acting(() => new Promise(() => undefined))], {
      clock,
      toolTimeoutMs: 500,
    })
    expect(await call(client)).toMatchObject({
      content: [{ text: expect.stringContaining('tool act did not finish within 500 ms') }],
      isError: true,
    })
  })

  test('handlers get the context, an id of the call, and the engine', async () => {
    const engine = createEngine({ adapter: fake({ script: [] }), context: { a: 1, b: 1 } })
    const seen: unknown[] = []
    const handler = (_args: object, { context, idempotencyKey, engine: given }: HandlerOptions) => {
      seen.push(context, given === engine, idempotencyKey)
    }
    const client = await serving(way, [acting(handler)], {
      engine,
      context: (extra) => ({ b: 2, c: typeof extra }),
    })
    await call(client)
    await call(client)
    expect(seen).toEqual([
      { a: 1, b: 2, c: 'object' },
      true,
      expect.stringMatching(/^[0-9a-f]{32}:call$/),
      { a: 1, b: 2, c: 'object' },
      true,
      expect.stringMatching(/^[0-9a-f]{32}:call$/),
    ])
    expect(seen[2]).not.toBe(seen[5])
  })

  describe('a handler that asks the user', () => {
    const asked: unknown[] = []
    const answer: Answer = (params) => {
      asked.push(params)
      return { action: 'accept', content: { answer: 'aisle' } }
    }

    test('asks the user of the client, and the answer is the result', async () => {
      asked.length = 0
      const handler = () => askUser('Which seat?', { choices: ['window', 'aisle'] })
      const client = await serving(way, [acting(handler)], { answer })
      expect(await call(client)).toMatchObject({ content: [{ type: 'text', text: 'aisle' }] })
      expect(asked).toMatchObject([
        {
          message: 'Which seat?',
          requestedSchema: {
            properties: { answer: { type: 'string', enum: ['window', 'aisle'] } },
            required: ['answer'],
          },
        },
      ])
    })

    test('is called again with the answer if it wants to, under the same key', async () => {
      const runs: unknown[] = []
      const handler = (_args: object, { answer: given, idempotencyKey }: HandlerOptions) => {
        runs.push([given, idempotencyKey])
        return given === undefined
          ? askUser('Which seat?', { resume: true })
          : `booked ${JSON.stringify(given)}`
      }
      const client = await serving(way, [acting(handler)], { answer })
      expect(await call(client)).toMatchObject({ content: [{ text: 'booked "aisle"' }] })
      expect(runs).toEqual([
        [undefined, expect.any(String)],
        ['aisle', (runs[0] as unknown[])[1]],
      ])
    })

    test('may have a form of its own', async () => {
      const schema = {
        type: 'object',
        properties: { row: { type: 'number' }, seat: { type: 'string' } },
      }
      const handler = (_args: object, { answer: given }: HandlerOptions) =>
        given === undefined
          ? askUser('Where?', { resume: true, schema })
          : `booked ${JSON.stringify(given)}`
      const filled = { row: 7, seat: 'C' }
      const client = await serving(way, [acting(handler)], {
        answer: () => ({ action: 'accept', content: filled }),
      })
      expect(await call(client)).toMatchObject({
        content: [{ text: `booked ${JSON.stringify(JSON.stringify(filled))}` }],
      })
    })

    test.each(['decline', 'cancel'])('is told when the user answers with %s', async (action) => {
      const client = await serving(way, [acting(() => askUser('Which?'))], {
        answer: () => ({ action }),
      })
      expect(await call(client)).toMatchObject({
        content: [{ text: 'the user did not answer' }],
        isError: true,
      })
    })

    test('fails if the client cannot ask', async () => {
      const client = await serving(way, [acting(() => askUser('Which?'))])
      expect(await call(client)).toMatchObject({
        content: [
          {
            text: expect.stringMatching(/^Which\? \(this client cannot ask its user; .*2026-07-28/),
          },
        ],
        isError: true,
      })
    })
  })

  describe('a tool that needs approval', () => {
    const guarded = (runs: unknown[]) =>
      acting(
        (args) => {
          runs.push(args)
          return 'deleted'
        },
        { needsApproval: true },
      )

    test('is not run if the client cannot ask', async () => {
      const runs: unknown[] = []
      const client = await serving(way, [guarded(runs)])
      expect(await call(client, { id: 7 })).toMatchObject({
        content: [
          { text: expect.stringMatching(/^Run act with \{"id":7\}\? \(this client cannot ask/) },
        ],
        isError: true,
      })
      expect(runs).toEqual([])
    })

    test.each([
      ['accept', 'deleted', 1],
      ['decline', 'the user did not approve the call, which was not run', 0],
      ['cancel', 'the user did not approve the call, which was not run', 0],
    ])('is asked about: %s', async (action, text, count) => {
      const runs: unknown[] = []
      const client = await serving(way, [guarded(runs)], {
        answer: () => ({ action, ...(count === 1 ? { content: {} } : {}) }),
      })
      expect(await call(client, { id: 7 })).toMatchObject({ content: [{ text }] })
      expect(runs).toHaveLength(count)
    })

    test('may ask the user too, and is approved once', async () => {
      const messages: unknown[] = []
      const handler = (_args: object, { answer: given }: HandlerOptions) =>
        given === undefined
          ? askUser('Sure?', { resume: true })
          : `deleted: ${JSON.stringify(given)}`
      const client = await serving(way, [acting(handler, { needsApproval: true })], {
        answer: ({ message }) => {
          messages.push(message)
          return { action: 'accept', content: messages.length === 1 ? {} : { answer: 'yes' } }
        },
      })
      expect(await call(client)).toMatchObject({ content: [{ text: 'deleted: "yes"' }] })
      expect(messages).toEqual(['Run act with {}?', 'Sure?'])
    })

    test('is decided about by the policy of the server', async () => {
      const runs: unknown[] = []
      const approve: ServeMcpOptions['approve'] = ({ arguments: args }) =>
        args['id'] === 7 ? 'run' : { deny: 'not yours' }
      const client = await serving(way, [guarded(runs)], { approve })
      expect(await call(client, { id: 7 })).toMatchObject({ content: [{ text: 'deleted' }] })
      expect(await call(client, { id: 8 })).toMatchObject({
        content: [{ text: '{"error":"the call was denied and was not run: not yours"}' }],
        isError: true,
      })
    })
  })
})

describe('what cannot be served is refused', () => {
  const server = () => new NewServer(info)

  test('tools without a handler, names used twice, unknown options', () => {
    const bare = tool({ name: 'bare', description: '', schema: {} })
    expect(() => serveMcp([bare], server())).toThrow('bare cannot be served: it has no handler')
    const manual = acting(() => 1, { manual: true })
    expect(() => serveMcp([manual], server())).toThrow('act cannot be served: it has no handler')
    expect(() => serveMcp([handoff(createEngine())], server())).toThrow(
      'handoff cannot be served: it hands a conversation over',
    )
    const twice = [acting(() => 1), acting(() => 2)]
    expect(() => serveMcp(twice, server())).toThrow('tools[1].name is used twice')
    const odd = { toolTimeout: 5 } as ServeMcpOptions
    expect(() => serveMcp([], server(), odd)).toThrow(
      'unknown key toolTimeout; did you mean toolTimeoutMs?',
    )
  })

  test('an executor runs tools without a handler', async () => {
    const bare = tool({ name: 'act', description: '', schema: {} })
    const client = await serving('server 2.4', [bare], {
      toolExecutor: ({ name }) => `ran ${name}`,
    })
    expect(await call(client)).toMatchObject({ content: [{ text: 'ran act' }] })
  })

  test.each([
    [
      'server 2.4',
      () => {
        const own = new NewMcpServer(info)
        own.registerTool('mine', {}, () => ({ content: [] }))
        return own
      },
    ],
    [
      'sdk 1.32',
      () => {
        const own = new OldMcpServer(info)
        own.registerTool('mine', {}, () => ({ content: [] }))
        return own
      },
    ],
  ])('a server with tools of its own: %s', (_title, own) => {
    expect(() => serveMcp([acting(() => 1)], own())).toThrow(
      'server has tools of its own; serve these with another one',
    )
  })

  test('a server that is connected already', async () => {
    const [near] = OldTransport.createLinkedPair()
    const connected = new OldServer(info, { capabilities: {} })
    await connected.connect(near)
    expect(() => serveMcp([acting(() => 1)], connected)).toThrow(/after connecting/)
  })
})
