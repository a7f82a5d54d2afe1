import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  asObject,
  asText,
  chatAdapter,
  embeddingResponse,
  leaveOut,
  messageBuilder,
  modelCaller,
  must,
  ndjsonSplitter,
  refuseTexts,
  requestBody,
  responseFields,
  settleConnection,
  streamHttp,
  type ConnectionOptions,
  type MakeDecoder,
  type ProviderWire,
} from '../../src/adapter.ts'
import {
  AdapterError,
  createEngine,
  generate,
  imageFromUrl,
  imagePart,
  modelRequest,
  user,
} from '../../src/index.ts'
import type { ChatAdapter, ModelEvent, ModelRequest } from '../../src/index.ts'
import type { EmbeddingAdapter, JsonObject } from '../../src/index.ts'
import { serve, sendJson } from '../support/http-server.ts'

interface EchoOptions extends ConnectionOptions {
  readonly voice?: string
}

/** An adapter of some lines for an API of JSON lines. Its key goes into a header whose name says nothing. */
function echo(options: EchoOptions): ChatAdapter {
  const connection = settleConnection(options, {
    provider: 'echo',
    baseUrl: 'https://api.echo.example/v1',
    keyHeaders: ['x-echo'],
    checks: { voice: must('a name', (value) => typeof value === 'string') },
  })
  return chatAdapter({
    connection,
    keyHeader: (key) => ({ 'x-echo': key }),
    splitter: ndjsonSplitter,
    render: (request, { warn }) => {
      if (request.seed !== undefined) warn('seed', 'is not sent')
      return { path: '/say', query: { v: '2' }, body: bodyOf(request), decoder: lines }
    },
  })
}

function bodyOf({ model, messages }: ModelRequest) {
  return requestBody<Pick<ModelRequest, 'model' | 'messages'>>({
    model: { model },
    messages: { text: asText(messages.at(-1)?.content) },
  })
}

const lines: MakeDecoder = (sink) => {
  const message = messageBuilder(sink)
  return {
    push(line) {
      const { say = '', stop, fail } = JSON.parse(line) as Readonly<Record<string, string>>
      if (fail !== undefined) throw new AdapterError('provider_unavailable', fail)
      message.text(say)
      if (stop !== undefined) message.finish({ finishReason: 'stop', rawFinishReason: stop })
    },
  }
}

const secret = 'kleeblatt-ohne-form'

async function read(stream: AsyncIterable<readonly ModelEvent[]>): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const batch of stream) events.push(...batch)
  return events
}

function answer(...lines: readonly unknown[]) {
  return (_request: unknown, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
}

describe('an adapter of a few lines', () => {
  test('sends its request and reads the answer', async () => {
    await using server = await serve(answer({ say: 'Hel' }, { say: 'lo' }, { stop: 'done' }))
    const adapter = echo({ baseUrl: `${server.url}/v1`, apiKey: secret })
    const request = { ...modelRequest([user('Hi')], { model: 'm' }), seed: 1 }
    const events = await read(adapter.stream(request, { requestId: 'run' }))
    expect(events.map(({ type }) => type)).toEqual([
      'message_started',
      'text_delta',
      'text_delta',
      'text_completed',
      'message_completed',
    ])
    expect(events[0]).toMatchObject({ warnings: [{ setting: 'seed', problem: 'is not sent' }] })
    expect(server.requests).toMatchObject([{ path: '/v1/say?v=2', headers: { 'x-echo': secret } }])
    const folded = await adapter.generate?.(request, { requestId: 'run' })
    expect(folded).toMatchObject({ outputText: 'Hello', provider: 'echo', requestId: 'run' })
  })

  test('its key is in nothing that leaves it, although no header name gives it away', async () => {
    await using server = await serve(answer({ say: `your key is ${secret}` }, { fail: secret }))
    const adapter = echo({ baseUrl: server.url })
    const events = await read(
      adapter.stream(modelRequest('Hi', { model: 'm' }), { apiKey: secret }),
    )
    expect(events.at(-1)).toMatchObject({
      error: { reason: 'provider_unavailable', provider: 'echo' },
    })
    expect(JSON.stringify(events)).not.toContain(secret)
  })

  test('a refusal is read without any code of its own', async () => {
    await using server = await serve((_request, response) =>
      sendJson(
        response,
        { error: { message: `too many: ${secret}` } },
        { status: 429, headers: { 'retry-after': '2' } },
      ),
    )
    const adapter = echo({ baseUrl: server.url, apiKey: secret })
    await expect(read(adapter.stream(modelRequest('Hi', { model: 'm' })))).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'rate_limited',
      status: 429,
      retryAfterMs: 2000,
      message: 'too many: [redacted]',
      provider: 'echo',
    })
  })

  test('an image that its API does not take is refused by its place', async () => {
    const adapter = echo({ baseUrl: 'http://127.0.0.1:9' })
    const content = [imagePart(imageFromUrl('https://example.com/a.png'))]
    const request = modelRequest([user(content)], { model: 'm' })
    await expect(read(adapter.stream(request))).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining('messages[0].content[0]: echo does not take'),
    })
  })

  test('an option that it does not have is refused by name', () => {
    expect(() => echo({ voice: 7 } as never)).toThrow(/voice must be a name/)
    expect(() => echo({ voise: 'x' } as never)).toThrow(/voise; did you mean voice/)
  })

  test('a key is required at its own address only, and a missing one is told before anything is sent', async () => {
    await expect(read(echo({}).stream(modelRequest('Hi', { model: 'm' })))).rejects.toMatchObject({
      reason: 'missing_key',
    })
  })
})

test('streamHttp alone takes the options of a call as they are', async () => {
  await using server = await serve(answer({ say: 'Hi' }, { stop: 'done' }))
  const options = { apiKey: secret, requestId: 'run', requestTimeoutMs: 1000 }
  const call = {
    ...options,
    provider: 'echo',
    url: server.url,
    headers: {},
    json: { a: 1 },
    splitter: ndjsonSplitter,
  }
  const events = await read(streamHttp(call, lines))
  expect(events.at(-1)).toMatchObject({ type: 'message_completed', rawFinishReason: 'done' })
  expect(server.requests).toMatchObject([
    { headers: { 'content-type': 'application/json' }, body: '{"a":1}' },
  ])
})

describe('what follows from the wire:', () => {
  const decoder = lines
  const reply = '{"say":"Hi"}\n{"stop":"done"}\n'
  const wired = (wire: Partial<ProviderWire>) => {
    const sent: Headers[] = []
    const models: string[] = []
    const connection = settleConnection(
      {
        apiKey: secret,
        fetch: async (_url, init) => {
          sent.push(new Headers(init.headers))
          return new Response(reply)
        },
      },
      { provider: 'echo', baseUrl: 'https://api.echo.example' },
    )
    const adapter = chatAdapter({
      connection,
      splitter: ndjsonSplitter,
      render(request, context) {
        models.push(request.model)
        leaveOut(request, ['seed'], context)
        return { path: '/say', body: {}, decoder }
      },
      ...wire,
    })
    return { adapter, sent, models }
  }

  test('an API with one model needs none in a request, and its warnings read well without one', async () => {
    const { adapter, models } = wired({ needsModel: false })
    expect(adapter.needsModel).toBe(false)
    const { outputText, warnings } = await generate(createEngine({ adapter, seed: 1 }), 'Hello')
    expect([outputText, models]).toEqual(['Hi', ['']])
    expect(warnings).toEqual([{ setting: 'seed', problem: 'the model takes no seed' }])
    expect(wired({}).adapter.needsModel).toBe(true)
  })

  test('the accepted type of an answer follows from the splitter, unless the wire says otherwise', async () => {
    const accepted = async (wire: Partial<ProviderWire>) => {
      const { adapter, sent } = wired(wire)
      await read(adapter.stream(modelRequest('Hi', { model: 'm' })))
      return sent[0]?.get('accept')
    }
    expect(await accepted({})).toBe('application/x-ndjson, */*;q=0.5')
    expect(await accepted({ headers: { accept: 'application/jsonl' } })).toBe('application/jsonl')
  })
})

describe('a model that is not chat', () => {
  const connection = settleConnection(
    { fetch: async () => Response.json({ vectors: 'none', id: 'a1', text: 'Hello' }) },
    { provider: 'magpie', baseUrl: 'https://api.magpie.example/v1', needsKey: false },
  )
  const limits = { maxTexts: 2 }
  const embed: EmbeddingAdapter['embed'] = modelCaller({
    connection,
    refuse: (request, call) => refuseTexts(limits, request, call),
    path: () => ['/vectors'],
    body: ({ texts }) => JSON.stringify({ texts }),
    read: (answer, context) =>
      embeddingResponse(asObject(answer.value)?.['vectors'], answer, context),
  })
  const request = { texts: ['a'], providerOptions: {}, metadata: {} }

  test('refuses what its limits do not allow', async () => {
    const texts = ['a', 'b', 'c']
    await expect(embed({ ...request, texts })).rejects.toMatchObject({
      reason: 'invalid_request',
      message: 'one call to magpie embeds 1 to 2 texts, not 3; embed() splits them',
    })
  })

  test('refuses an answer without a list of vectors', async () => {
    await expect(embed(request)).rejects.toMatchObject({
      reason: 'malformed_response',
      message: 'magpie answered with no list of vectors',
    })
  })

  test('has the fields that all answers have', async () => {
    const ask = modelCaller({
      connection,
      path: (_request: { readonly model: string; readonly metadata: JsonObject }) => ['/texts'],
      body: () => '{}',
      read: ({ value, headers }, context) => ({
        ...responseFields(context, { id: asText(asObject(value)?.['id']), headers }),
        text: asText(asObject(value)?.['text']),
      }),
    })
    const asked = { model: 'grey', metadata: { trace: 7 } }

    expect(await ask(asked, { requestId: 'r1' })).toEqual({
      requestId: 'r1',
      id: 'a1',
      model: 'grey',
      provider: 'magpie',
      text: 'Hello',
      warnings: [],
      metadata: { trace: 7 },
    })
  })

  test('need not say in errors whose call it was', async () => {
    const ask = modelCaller({
      connection,
      path: () => ['/texts'],
      body: () => '{}',
      read: () => {
        throw new AdapterError('malformed_response', 'no text')
      },
    })

    await expect(ask({}, { requestId: 'r1' })).rejects.toMatchObject({
      reason: 'malformed_response',
      provider: 'magpie',
      requestId: 'r1',
    })
  })

  test('names what it leaves out, whatever the kind of the request', () => {
    const warnings: string[] = []
    const settings = { model: 'grey', dimensions: 4, task: undefined }
    leaveOut(settings, ['dimensions', 'task'], {
      warn: (...told) => warnings.push(told.join(': ')),
    })

    expect(warnings).toEqual(['dimensions: grey takes no dimensions'])
  })
})
