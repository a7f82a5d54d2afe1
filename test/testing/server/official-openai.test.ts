import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import { drain } from './drain.ts'
import { cited, greeting, parallelCalls, thinking } from './scripts.ts'

const messages = [{ role: 'user' as const, content: 'hi' }]

function client(server: FakeServer, options: object = {}): OpenAI {
  return new OpenAI({ baseURL: server.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0, ...options })
}

describe('Chat Completions', () => {
  const ask = { model: 'gpt-4o', messages }

  test('a whole answer has text, usage and finish reason', async () => {
    await using server = await createFakeServer({ script: greeting })
    const answer = await client(server).chat.completions.create(ask)

    expect(answer.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Hello, wörld 🦊' },
      finish_reason: 'stop',
    })
    expect(answer.usage).toEqual({
      prompt_tokens: 20,
      completion_tokens: 12,
      total_tokens: 32,
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 5 },
    })
    expect(answer.model).toBe('gpt-4o')
    expect(answer).toHaveProperty('_request_id', 'req_fake_1')
  })

  test('a stream is folded by the package itself', async () => {
    await using server = await createFakeServer({ script: greeting })
    const stream = client(server).chat.completions.stream({
      ...ask,
      stream_options: { include_usage: true },
    })

    expect(await stream.finalContent()).toBe('Hello, wörld 🦊')
    expect((await stream.totalUsage()).total_tokens).toBe(32)
  })

  test('a stream has a usage only when it is asked for', async () => {
    await using server = await createFakeServer({ script: greeting })
    const chunks = await client(server).chat.completions.create({ ...ask, stream: true })

    for await (const chunk of chunks) expect(chunk).not.toHaveProperty('usage')
  })

  test('parallel calls arrive whole, streamed and not', async () => {
    await using server = await createFakeServer({ scripts: [parallelCalls, parallelCalls] })
    const whole = await client(server).chat.completions.create(ask)
    const streamed = await client(server).chat.completions.stream(ask).finalChatCompletion()

    for (const { choices } of [whole, streamed]) {
      expect(choices[0]?.finish_reason).toBe('tool_calls')
      expect(choices[0]?.message.tool_calls).toMatchObject([
        { id: 'call_a', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
        { id: 'call_b', function: { name: 'get_time', arguments: '{"zone":"CET"}' } },
      ])
    }
  })
})

test('Chat Completions has the pages that an answer cites, and no items of hosted tools', async () => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
  const script = cited('openai', search)
  await using server = await createFakeServer({ scripts: [script, script] })
  const ask = { model: 'gpt-4o-search-preview', messages, web_search_options: {} }
  const whole = await client(server).chat.completions.create(ask)
  const stream = await client(server).chat.completions.create({ ...ask, stream: true })
  const annotations = (await drain(stream)).flatMap(({ choices: [choice] }) =>
    choice !== undefined && 'annotations' in choice.delta ? choice.delta.annotations : [],
  )

  const page = { url: 'https://example.com', title: 'Paris', start_index: 0, end_index: 5 }
  expect(whole.choices[0]?.message.content).toBe('Paris is big.')
  expect(whole.choices[0]?.message.annotations).toEqual([
    { type: 'url_citation', url_citation: page },
  ])
  expect(annotations).toEqual([{ type: 'url_citation', url_citation: page }])
})

describe('Responses', () => {
  const ask = { model: 'gpt-5', input: 'hi' }

  test('a whole answer has text, usage and status', async () => {
    await using server = await createFakeServer({ script: greeting })
    const answer = await client(server).responses.create(ask)

    expect(answer).toMatchObject({ output_text: 'Hello, wörld 🦊', status: 'completed' })
    expect(answer.usage).toEqual({
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 32,
    })
  })

  test('a stream is folded by the package itself', async () => {
    await using server = await createFakeServer({ script: greeting })
    const answer = await client(server).responses.stream(ask).finalResponse()

    expect(answer).toMatchObject({ output_text: 'Hello, wörld 🦊', status: 'completed' })
  })

  test('parallel calls arrive whole, streamed and not', async () => {
    await using server = await createFakeServer({ scripts: [parallelCalls, parallelCalls] })
    const whole = await client(server).responses.create(ask)
    const streamed = await client(server).responses.stream(ask).finalResponse()

    for (const { output } of [whole, streamed]) {
      expect(output).toMatchObject([
        { call_id: 'call_a', name: 'get_weather', arguments: '{"city":"Paris"}' },
        { call_id: 'call_b', name: 'get_time', arguments: '{"zone":"CET"}' },
      ])
    }
  })

  test('reasoning has a summary and its encrypted content', async () => {
    const script = thinking({ id: 'rs_1', encrypted_content: 'gAAAA' })
    await using server = await createFakeServer({ scripts: [script, script] })
    const whole = await client(server).responses.create(ask)
    const streamed = await client(server).responses.stream(ask).finalResponse()

    for (const { output } of [whole, streamed]) {
      expect(output[0]).toMatchObject({
        type: 'reasoning',
        id: 'rs_1',
        encrypted_content: 'gAAAA',
        summary: [{ type: 'summary_text', text: 'Let me see.' }],
      })
    }
  })

  test('a hosted tool and its source arrive as the package knows them', async () => {
    const action = { type: 'search', query: 'Paris' }
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action }
    const script = cited('openai', search)
    await using server = await createFakeServer({ scripts: [script, script] })
    const whole = await client(server).responses.create(ask)
    const streamed = await client(server).responses.stream(ask).finalResponse()

    for (const { output, output_text } of [whole, streamed]) {
      expect(output_text).toBe('Paris is big.')
      const annotation = { type: 'url_citation', url: 'https://example.com', end_index: 5 }
      expect(output).toMatchObject([search, { content: [{ annotations: [annotation] }] }])
    }
  })

  test('the items of an answer are taken back as they came', async () => {
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'Paris' },
    }
    await using server = await createFakeServer({ scripts: [cited('openai', search), greeting] })
    const { output } = await client(server).responses.create(ask)
    // What the package gives out is what it takes in; its types differ in items that are not here.
    const items = output as OpenAI.Responses.ResponseInputItem[]
    const input = [{ role: 'user' as const, content: 'hi' }, ...items]
    const next = await client(server).responses.create({
      ...ask,
      input: [...input, { role: 'user', content: 'And?' }],
    })

    expect(next.output_text).toBe('Hello, wörld 🦊')
    expect(server.requests[1]?.body).toMatchObject({ input: [{}, search, {}, {}] })
  })

  test('an answer that was cut short says why', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'Once'],
        ['finish', 'length'],
      ],
    })
    const answer = await client(server).responses.create(ask)

    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
  })
})

describe('errors', () => {
  test.each([
    ['authentication_failed', OpenAI.AuthenticationError, 401],
    ['rate_limited', OpenAI.RateLimitError, 429],
    ['invalid_request', OpenAI.BadRequestError, 400],
    ['context_length_exceeded', OpenAI.BadRequestError, 400],
    ['provider_unavailable', OpenAI.InternalServerError, 503],
  ] as const)('%s is the error that the package has for it', async (reason, type, status) => {
    await using server = await createFakeServer({ script: [['preflight_error', reason, {}]] })
    const call = client(server).chat.completions.create({ model: 'gpt-4o', messages })

    const error = await call.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({ status, requestID: 'req_fake_1' })
  })

  test('the package waits as a refusal asks, and tries again', async () => {
    await using server = await createFakeServer({
      script: greeting,
      faults: [{ status: 429, retryAfterMs: 1 }],
    })
    const answer = await client(server, { maxRetries: 1 }).responses.create({
      model: 'gpt-5',
      input: 'hi',
    })

    expect(answer.output_text).toBe('Hello, wörld 🦊')
    expect(server.requests.map(({ status }) => status)).toEqual([429, 200])
  })

  test('a failure inside a stream is thrown in its midst', async () => {
    const script = [
      ['text', 'Par'],
      ['error', 'provider_unavailable'],
    ] as const
    await using server = await createFakeServer({ scripts: [script, script] })
    const chat = await client(server).chat.completions.create({
      model: 'gpt-4o',
      messages,
      stream: true,
    })
    const responses = await client(server).responses.create({
      model: 'gpt-5',
      input: 'hi',
      stream: true,
    })

    for (const stream of [chat, responses] as AsyncIterable<unknown>[]) {
      await expect(drain(stream)).rejects.toBeInstanceOf(OpenAI.APIError)
    }
  })

  test('a call beyond the last script says so, and is not tried again', async () => {
    await using server = await createFakeServer({ scripts: [] })
    const call = client(server, { maxRetries: 2 }).chat.completions.create({
      model: 'gpt-4o',
      messages,
    })

    await expect(call).rejects.toMatchObject({ status: 501, code: 'no_scripted_response' })
    expect(server.requests).toHaveLength(1)
  })

  test('a connection that is closed in the middle of a stream is an error', async () => {
    await using server = await createFakeServer({ script: greeting, faults: [{ cutAfter: 2 }] })
    const stream = await client(server).chat.completions.create({
      model: 'gpt-4o',
      messages,
      stream: true,
    })

    await expect(drain(stream)).rejects.toThrow('terminated')
  })
})

test('the models are listed', async () => {
  const models = [{ id: 'gpt-x', inputTokenLimit: 400_000 }, 'gpt-y']
  await using server = await createFakeServer({ models })
  const { data } = await client(server).models.list()

  expect(data.map(({ id }) => id)).toEqual(['gpt-x', 'gpt-y'])
  expect(data[0]).not.toHaveProperty('inputTokenLimit')
  expect((await client(server).models.retrieve('gpt-y')).id).toBe('gpt-y')
  await expect(client(server).models.retrieve('gpt-z')).rejects.toBeInstanceOf(OpenAI.NotFoundError)
})

describe('files', () => {
  const file_data = 'data:application/pdf;base64,JVBERi0xLjc='

  test('reach Chat Completions as parts of the user, and only those that it takes', async () => {
    await using server = await createFakeServer({ script: greeting })
    const { completions } = client(server).chat
    const ask = (...content: OpenAI.ChatCompletionContentPart[]) =>
      completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content }] })
    const pdf = { type: 'file', file: { filename: 'a.pdf', file_data } } as const
    const wav = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } } as const
    await ask({ type: 'text', text: 'Read this.' }, pdf, wav)
    expect(server.requests[0]?.body).toMatchObject({ messages: [{ content: [{}, pdf, wav] }] })
    const text = { type: 'file', file: { file_data: 'data:text/plain;base64,QQ==' } } as const
    await expect(ask(text)).rejects.toThrow("unsupported MIME type 'text/plain'")
  })

  test('reach Responses as parts of the user, by their bytes and by their address', async () => {
    await using server = await createFakeServer({ script: greeting })
    const pdf = { type: 'input_file', filename: 'a.pdf', file_data } as const
    const page = { type: 'input_file', file_url: 'https://example.com/a.pdf' } as const
    const text = { type: 'input_text', text: 'Read these.' } as const
    await client(server).responses.create({
      model: 'gpt-5',
      input: [{ role: 'user', content: [text, pdf, page] }],
    })
    expect(server.requests[0]?.body).toMatchObject({ input: [{ content: [text, pdf, page] }] })
  })

  test('reach Responses as the output of a call', async () => {
    await using server = await createFakeServer({ script: greeting })
    const answer = await client(server).responses.create({
      model: 'gpt-5',
      input: [
        { role: 'user', content: 'Scan it.' },
        { type: 'function_call', call_id: 'a', name: 'scan', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'a',
          output: [
            { type: 'input_file', filename: 'a.pdf', file_data },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
          ],
        },
      ],
    })
    expect(answer.output_text).toBe('Hello, wörld 🦊')
  })
})

test('tokens of the Responses API are counted, and what an answer would need is refused', async () => {
  await using server = await createFakeServer({ script: greeting })
  const { inputTokens } = client(server).responses
  const asked = { model: 'gpt-5', input: 'hi', instructions: 'Be brief.' }
  const counted = await client(server).responses.inputTokens.count(asked)
  expect(counted.object).toBe('response.input_tokens')
  expect(counted.input_tokens).toBeGreaterThan(5)
  await expect(inputTokens.count({ ...asked, stream: true } as object)).rejects.toThrow(/stream/)
})
