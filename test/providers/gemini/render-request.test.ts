import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message, Part } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { renderRequest } from '../../../src/providers/gemini/render-request.ts'
import { request } from './support.ts'

function contentsOf(
  messages: readonly Message[],
  fields: Partial<ModelRequest> = {},
): JsonObject[] {
  return renderRequest(request({ messages, ...fields })).body['contents'] as JsonObject[]
}

const hi: Message = { role: 'user', content: 'Hi' }
const said = (content: string | readonly Part[]): Message => ({ role: 'assistant', content })
const user = (...parts: readonly JsonObject[]): JsonObject => ({ role: 'user', parts })
const model = (...parts: readonly JsonObject[]): JsonObject => ({ role: 'model', parts })

describe('messages', () => {
  test('a request without settings is one turn', () => {
    expect(renderRequest(request()).body).toEqual({ contents: [user({ text: 'Hi' })] })
  })

  test('system messages are one instruction, wherever they stand', () => {
    const body = renderRequest(
      request({
        messages: [
          { role: 'system', content: 'Be brief.' },
          hi,
          { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
          { role: 'system', content: '' },
        ],
      }),
    ).body
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] },
      contents: [user({ text: 'Hi' })],
    })
  })

  test('neighbours of one role are one turn', () => {
    const contents = contentsOf([hi, { role: 'user', content: 'There' }, said('a'), said('b')])
    expect(contents).toEqual([
      user({ text: 'Hi' }, { text: 'There' }),
      model({ text: 'a' }, { text: 'b' }),
    ])
  })

  test('a message without content is left out', () => {
    const contents = contentsOf([hi, said(''), { role: 'user', content: [] }, said([])])
    expect(contents).toEqual([user({ text: 'Hi' })])
  })

  test('a conversation that the model begins gets a blank user turn first', () => {
    expect(contentsOf([said('Welcome.'), hi])).toEqual([
      user({ text: ' ' }),
      model({ text: 'Welcome.' }),
      user({ text: 'Hi' }),
    ])
    expect(contentsOf([{ role: 'system', content: 'Tell a joke.' }])).toEqual([user({ text: ' ' })])
  })
})

describe('images', () => {
  const parts = (image: Part & { type: 'image' }): JsonObject[] =>
    contentsOf([{ role: 'user', content: [image] }])[0]?.['parts'] as JsonObject[]

  test('bytes are inline', () => {
    const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/webp' } as const
    expect(parts({ type: 'image', image, detail: 'high' })).toEqual([
      { inlineData: { mimeType: 'image/webp', data: 'AAAA' } },
    ])
  })

  test.each([
    ['https://example.com/a.PNG?w=1', undefined, 'image/png'],
    ['https://example.com/a', 'image/webp', 'image/webp'],
    ['https://example.com/v1.2/a', undefined, undefined],
  ])('%s with the type %s is sent as a URL with the type %s', (url, mimeType, known) => {
    const image = { type: 'url', url, ...(mimeType === undefined ? {} : { mimeType }) } as const
    const fileData = { ...(known === undefined ? {} : { mimeType: known }), fileUri: url }
    expect(parts({ type: 'image', image })).toEqual([{ fileData }])
  })

  test.each([
    ['files/abc', 'https://generativelanguage.googleapis.com/v1beta/files/abc'],
    ['https://host/v1beta/files/abc', 'https://host/v1beta/files/abc'],
    ['gs://bucket/cat.png', 'gs://bucket/cat.png'],
  ])('the uploaded image %s is sent as %s', (id, fileUri) => {
    const image = { type: 'id', id, provider: 'gemini', mimeType: 'image/png' } as const
    expect(parts({ type: 'image', image })).toEqual([
      { fileData: { mimeType: 'image/png', fileUri } },
    ])
  })

  test('an image of the model is sent back in its own turn', () => {
    const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } as const
    expect(contentsOf([hi, said([{ type: 'image', image }])])[1]).toEqual(
      model({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }),
    )
  })
})

describe('reasoning and signatures', () => {
  const own = (text: string, rest: Partial<Part & { type: 'reasoning' }> = {}): Part => ({
    type: 'reasoning',
    text,
    provider: 'gemini',
    ...rest,
  })

  test('thoughts are sent back with the signature that they came with', () => {
    const content = [own('a', { opaque: 'S1' }), own('b'), own('')]
    expect(contentsOf([hi, said(content)])[1]).toEqual(
      model({ text: 'a', thought: true, thoughtSignature: 'S1' }, { text: 'b', thought: true }),
    )
  })

  test('a signature is sent back on the text or the image before it', () => {
    const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } as const
    const content: Part[] = [
      { type: 'text', text: 'a' },
      own('', { opaque: { thoughtSignature: 'S1', on: 'previous' } }),
      { type: 'image', image },
      own('', { opaque: { thoughtSignature: 'S2', on: 'previous' } }),
    ]
    expect(contentsOf([hi, said(content)])[1]).toEqual(
      model(
        { text: 'a', thoughtSignature: 'S1' },
        { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'S2' },
      ),
    )
  })

  test('a signature whose part is gone is sent back on an empty text', () => {
    const content = [own('', { opaque: { thoughtSignature: 'S1', on: 'previous' } })]
    expect(contentsOf([hi, said(content)])[1]).toEqual(model({ text: '', thoughtSignature: 'S1' }))
  })

  test('a part that only Gemini knows is sent back unchanged', () => {
    const part = { executableCode: { language: 'PYTHON', code: '1' } }
    expect(contentsOf([hi, said([own('', { opaque: { part } })])])[1]).toEqual(model(part))
  })

  test('reasoning of another provider, or of none, is left out, and nothing else', () => {
    const content: Part[] = [
      { type: 'reasoning', text: 'a', opaque: { signature: 'X' }, provider: 'anthropic' },
      { type: 'reasoning', text: 'b', opaque: 'Y' },
      { type: 'text', text: 'c' },
    ]
    expect(contentsOf([hi, said(content)])[1]).toEqual(model({ text: 'c' }))
  })

  test('an adapter with another name sends back the reasoning of that name', () => {
    const messages = [hi, said([own('a'), { ...own('b'), provider: 'vertex' } as Part])]
    const body = renderRequest(request({ messages }), { provider: 'vertex' }).body
    expect(body['contents']).toEqual([user({ text: 'Hi' }), model({ text: 'b', thought: true })])
  })
})

describe('calls and their results', () => {
  const result = (toolCallId: string, content: Message['content']): Message => ({
    role: 'tool',
    content,
    toolCallId,
  })
  const calling = (...toolCalls: NonNullable<Message['toolCalls']>): Message => ({
    role: 'assistant',
    content: 'Hm.',
    toolCalls,
  })

  test('calls follow the text, and results come in the order of the calls, with their ids and names', () => {
    const contents = contentsOf([
      hi,
      calling(
        { id: 'c1', name: 'add', arguments: { a: 1 } },
        { id: 'c2', name: 'sub', arguments: {} },
      ),
      result('c2', '2'),
      result('c1', ''),
      { role: 'user', content: 'And?' },
    ])
    expect(contents.slice(1)).toEqual([
      model(
        { text: 'Hm.' },
        { functionCall: { id: 'c1', name: 'add', args: { a: 1 } } },
        { functionCall: { id: 'c2', name: 'sub', args: {} } },
      ),
      user(
        { functionResponse: { id: 'c1', name: 'add', response: { output: '' } } },
        { functionResponse: { id: 'c2', name: 'sub', response: { output: '2' } } },
        { text: 'And?' },
      ),
    ])
  })

  test('an id that Gemini did not send is not sent to it', () => {
    const call = { name: 'add', arguments: {} }
    const contents = contentsOf([
      hi,
      calling(
        { ...call, id: 'c1', opaque: { sentId: null, thoughtSignature: 'S1' } },
        { ...call, id: 'c2', opaque: { sentId: 'x' } },
      ),
      result('c1', '1'),
      result('c2', '2'),
    ])
    expect(contents.slice(1)).toEqual([
      model(
        { text: 'Hm.' },
        { functionCall: { name: 'add', args: {} }, thoughtSignature: 'S1' },
        { functionCall: { id: 'x', name: 'add', args: {} } },
      ),
      user(
        { functionResponse: { name: 'add', response: { output: '1' } } },
        { functionResponse: { id: 'x', name: 'add', response: { output: '2' } } },
      ),
    ])
  })

  test.each([
    ['gemini-3-pro-preview', true],
    ['gemini-flash-latest', true],
    ['gemini-2.5-pro', false],
    ['gemma-3-27b-it', false],
  ])('for %s, calls of another provider are marked as such: %s', (name, marked) => {
    const messages = [
      hi,
      calling(
        { id: 'c1', name: 'add', arguments: {}, opaque: { item: 'fc_1' } },
        { id: 'c2', name: 'add', arguments: {} },
      ),
    ]
    const [, turn] = contentsOf(messages, { model: name })
    const [, first, second] = (turn?.['parts'] ?? []) as JsonObject[]
    expect(first?.['thoughtSignature']).toBe(
      marked ? 'skip_thought_signature_validator' : undefined,
    )
    expect(second).not.toHaveProperty('thoughtSignature')
  })

  test('calls with a signature are sent unchanged', () => {
    const call = { id: 'c1', name: 'add', arguments: {}, opaque: { thoughtSignature: 'S1' } }
    const [, turn] = contentsOf([hi, calling(call)], { model: 'gemini-3-pro-preview' })
    expect(turn?.['parts']).toContainEqual({
      functionCall: { id: 'c1', name: 'add', args: {} },
      thoughtSignature: 'S1',
    })
  })

  test('images of a result are inside it from Gemini 3 on, and beside it before', () => {
    const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } as const
    const messages = [
      hi,
      calling({ id: 'c1', name: 'draw', arguments: {}, opaque: { thoughtSignature: 'S1' } }),
      result('c1', [
        { type: 'text', text: 'done' },
        { type: 'image', image },
      ]),
    ]
    const inlineData = { mimeType: 'image/png', data: 'AAAA' }
    const response = { id: 'c1', name: 'draw', response: { output: 'done' } }
    expect(contentsOf(messages)[2]).toEqual(user({ functionResponse: response }, { inlineData }))
    expect(contentsOf(messages, { model: 'gemini-3-flash' })[2]).toEqual(
      user({ functionResponse: { ...response, parts: [{ inlineData }] } }),
    )
  })

  test('a result without its call is refused with its path', () => {
    expect(() => contentsOf([hi, result('c9', '1')])).toThrow('messages[1].toolCallId answers "c9"')
  })
})

describe('everything else', () => {
  const add = {
    name: 'add',
    description: 'Adds.',
    schema: { type: 'object', properties: { a: { type: 'number' } } },
  }

  test.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    ['add', { mode: 'ANY', allowedFunctionNames: ['add'] }],
  ])('the tool choice %s', (toolChoice, functionCallingConfig) => {
    const body = renderRequest(request({ tools: [add], toolChoice })).body
    expect(body['toolConfig']).toEqual({ functionCallingConfig })
  })

  test('a tool choice is sent only with tools', () => {
    expect(renderRequest(request({ toolChoice: 'auto' })).body).not.toHaveProperty('toolConfig')
    expect(renderRequest(request({ tools: [add] })).body).not.toHaveProperty('toolConfig')
  })

  test('tools are function declarations; one without arguments has no parameters', () => {
    const nothing = {
      name: 'now',
      description: 'The time.',
      schema: { type: 'object', properties: {}, additionalProperties: false },
    }
    expect(renderRequest(request({ tools: [add, nothing] })).body['tools']).toEqual([
      {
        functionDeclarations: [
          { name: 'add', description: 'Adds.', parametersJsonSchema: add.schema },
          { name: 'now', description: 'The time.' },
        ],
      },
    ])
  })

  test('temperature, length and format are in the generation config', () => {
    const body = renderRequest(
      request({ temperature: 0, maxTokens: 9, responseFormat: { type: 'json_object' } }),
    ).body
    expect(body['generationConfig']).toEqual({
      temperature: 0,
      maxOutputTokens: 9,
      responseMimeType: 'application/json',
    })
    expect(renderRequest(request({ responseFormat: { type: 'text' } })).body).not.toHaveProperty(
      'generationConfig',
    )
  })

  test.each([
    ['gemini-2.5-flash', {}, 'responseJsonSchema', 'string'],
    ['gemini-2.0-flash', {}, 'responseSchema', 'STRING'],
    [
      'gemini-2.5-flash',
      { baseUrl: 'https://generativelanguage.googleapis.com/v1' },
      'responseSchema',
      'STRING',
    ],
  ])('%s at %o gets a schema as %s', (name, options, key, type) => {
    const responseFormat = {
      type: 'json_schema',
      name: 'x',
      schema: { type: 'string' },
      strict: true,
    } as const
    const body = renderRequest(request({ model: name, responseFormat }), options).body
    expect(body['generationConfig']).toEqual({
      responseMimeType: 'application/json',
      [key]: { type },
    })
  })

  test('the options of the provider are merged last, and tools are added', () => {
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
    const body = renderRequest(
      request({
        model: 'gemini-3-flash',
        temperature: 1,
        tools: [add],
        toolChoice: 'auto',
        promptCache: true,
        providerOptions: {
          gemini: {
            safetySettings,
            cachedContent: 'cachedContents/1',
            generationConfig: { temperature: 0.5, topK: 3 },
            tools: [{ googleSearch: {} }],
            toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
          },
          openai: { store: true },
        },
      }),
    ).body
    expect(body).toMatchObject({
      safetySettings,
      cachedContent: 'cachedContents/1',
      generationConfig: { temperature: 0.5, topK: 3 },
      tools: [{ functionDeclarations: [{ name: 'add' }] }, { googleSearch: {} }],
      toolConfig: {
        functionCallingConfig: { mode: 'VALIDATED' },
        includeServerSideToolInvocations: true,
      },
    })
    expect(body).not.toHaveProperty('store')
  })

  test('those of a tool are for the API and for a provider of another name, too', () => {
    const providerOptions = { gemini: { behavior: 'BLOCKING' }, vertex: { response: {} } }
    const tools = [{ name: 'look', description: 'Looks.', schema: {}, providerOptions }]
    expect(renderRequest(request({ tools }), { provider: 'vertex' }).body['tools']).toEqual([
      {
        functionDeclarations: [
          { name: 'look', description: 'Looks.', behavior: 'BLOCKING', response: {} },
        ],
      },
    ])
  })

  test('an adapter with another name also takes the options of that name', () => {
    const providerOptions = { gemini: { labels: { a: '1' } }, vertex: { labels: { b: '2' } } }
    const body = renderRequest(request({ providerOptions }), { provider: 'vertex' }).body
    expect(body['labels']).toEqual({ a: '1', b: '2' })
  })
})
