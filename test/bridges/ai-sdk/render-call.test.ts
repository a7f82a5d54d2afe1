import { describe, expect, test } from 'vitest'
import {
  assistant,
  fileFromBase64,
  fileFromId,
  filePart,
  imageFromBase64,
  imageFromUrl,
  imagePart,
  system,
  textPart,
  toolResult,
  user,
  type JsonObject,
  type Message,
  type ToolSpec,
} from '../../../src/index.ts'
import { sentFor, type Version } from './model.ts'

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const versions: readonly Version[] = ['v2', 'v3', 'v4']
const weather: ToolSpec = {
  name: 'weather',
  description: 'The weather.',
  schema: { type: 'object' },
}

describe('settings', () => {
  test('have the names of the specification', async () => {
    const { call, warnings } = await sentFor([user('hi')], {
      maxTokens: 10,
      temperature: 0,
      topP: 0.5,
      topK: 4,
      stopSequences: ['END'],
      seed: 0,
      presencePenalty: 1,
      frequencyPenalty: -1,
      metadata: { tenant: 'secret' },
    })
    expect(call).toMatchObject({
      maxOutputTokens: 10,
      temperature: 0,
      topP: 0.5,
      topK: 4,
      stopSequences: ['END'],
      seed: 0,
      presencePenalty: 1,
      frequencyPenalty: -1,
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    })
    expect(JSON.stringify(call)).not.toContain('secret')
    expect(warnings).toEqual([])
  })

  test('that the specification does not have are named in warnings', async () => {
    const asked = {
      promptCache: true,
      parallelToolCalls: false,
      reasoning: { effort: 'low', summary: true },
      tools: [{ ...weather, strict: true }],
    } as const
    const told = await Promise.all(
      versions.map(async (version) => {
        const { warnings } = await sentFor([user('hi')], asked, { version })
        return warnings.map(({ setting }) => setting)
      }),
    )
    expect(told).toEqual([
      ['promptCache', 'reasoning', 'tools.weather.strict', 'parallelToolCalls'],
      ['promptCache', 'reasoning', 'parallelToolCalls'],
      ['promptCache', 'reasoning.summary', 'parallelToolCalls'],
    ])
  })

  test.each([
    ['is asked for', { generationConfig: { thinkingConfig: {} } }, []],
    ['is left out', { input: 'a "reasoning": of the user' }, ['reasoning']],
    ['cannot be seen', undefined, []],
  ])('V4 has the effort; one that %s by its model is told as %o: %o', async (_how, body, told) => {
    const settings = { version: 'v4', body } as const
    const { call, warnings } = await sentFor(
      [user('hi')],
      { reasoning: { effort: 'low' } },
      settings,
    )
    expect(call['reasoning']).toBe('low')
    expect(warnings.map(({ setting }) => setting)).toEqual(told)
  })

  test.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    ['weather', { type: 'tool', toolName: 'weather' }],
  ])('the choice %s is %o', async (toolChoice, expected) => {
    const { call } = await sentFor([user('hi')], { tools: [weather], toolChoice })
    expect(call['toolChoice']).toEqual(expected)
    expect(call['tools']).toEqual([
      {
        type: 'function',
        name: 'weather',
        description: 'The weather.',
        inputSchema: { type: 'object' },
        providerOptions: {},
      },
    ])
  })

  test('tools of the provider are offered in every call', async () => {
    const options = { providerTools: { search: { id: 'parrot.search', args: { max: 3 } } } }
    for (const version of versions) {
      const { call } = await sentFor([user('hi')], {}, { version, options })
      const type = version === 'v2' ? 'provider-defined' : 'provider'
      expect(call['tools']).toEqual([
        { type, id: 'parrot.search', name: 'search', args: { max: 3 } },
      ])
    }
  })

  test.each([
    [{ type: 'text' }, undefined],
    [{ type: 'json_object' }, { type: 'json' }],
  ] as const)('the format %o is %o', async (responseFormat, expected) => {
    const { call } = await sentFor([user('hi')], { responseFormat })
    expect(call['responseFormat']).toEqual(expected)
  })

  test('objects of a format have no members but those they name, unless they say so', async () => {
    const text = { type: 'string' } as const
    const open = { type: 'object', properties: { a: text } } as const
    const closed = { ...open, additionalProperties: false } as const
    const schemaOf = (inner: JsonObject): JsonObject => ({
      type: 'object',
      properties: {
        properties: inner,
        default: { type: ['object', 'null'], properties: {}, additionalProperties: true },
        list: { type: 'array', items: inner, prefixItems: [inner] },
        choice: { anyOf: [inner, { oneOf: [inner, { $ref: '#/$defs/d' }] }] },
        map: { type: 'object', additionalProperties: inner },
        free: { type: 'object' },
        data: { const: open, default: open, enum: [open] },
        both: { allOf: [open, { type: 'object', properties: { b: text } }] },
      },
      required: ['list'],
      additionalProperties: false,
      $defs: { d: inner, properties: inner },
      definitions: { d: inner },
    })
    const { additionalProperties: _closed, ...schema } = schemaOf(open)
    const before = JSON.stringify(schema)
    const responseFormat = { type: 'json_schema', name: 'x', schema, strict: true } as const
    const { call } = await sentFor([user('hi')], { responseFormat })
    expect(call['responseFormat']).toEqual({ type: 'json', name: 'x', schema: schemaOf(closed) })
    expect(JSON.stringify(schema)).toBe(before)
  })

  test('options of the provider go where the AI SDK looks for them, and those of others nowhere', async () => {
    const own = (text: string) => ({
      providerOptions: { 'parrot.chat': { note: text }, openai: { note: 'foreign' } },
    })
    const messages: readonly Message[] = [
      { ...user([{ ...textPart('hi'), ...own('part') }]), ...own('message') },
    ]
    const { call } = await sentFor(
      messages,
      { tools: [{ ...weather, ...own('tool') }], ...own('request') },
      { options: { providerOptions: { parrot: { store: false }, gateway: { order: ['a'] } } } },
    )
    expect(call['providerOptions']).toEqual({
      parrot: { store: false, note: 'request' },
      gateway: { order: ['a'] },
    })
    expect(call['tools']).toMatchObject([{ providerOptions: { parrot: { note: 'tool' } } }])
    expect(call['prompt']).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'hi', providerOptions: { parrot: { note: 'part' } } }],
        providerOptions: { parrot: { note: 'message' } },
      },
    ])
    expect(JSON.stringify(call)).not.toContain('foreign')
    const named = { provider: 'parrot', optionsName: 'bird' }
    const { call: other } = await sentFor(
      [user('hi')],
      { providerOptions: { parrot: { note: 'request' } } },
      { options: named },
    )
    expect(other['providerOptions']).toEqual({ bird: { note: 'request' } })
  })
})

describe('messages', () => {
  test('keep their roles and their order, and the results of one answer are one message', async () => {
    const calls = ['c1', 'c2'].map((id) => ({ id, name: 'weather', arguments: { city: id } }))
    const { call } = await sentFor([
      system('Be brief.'),
      user('hi'),
      assistant('One moment.', { toolCalls: calls }),
      toolResult('c1', 'sun'),
      { ...toolResult('c2', 'no such city'), metadata: { isError: true } },
      user('thanks'),
    ])
    expect(call['prompt']).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'One moment.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: { city: 'c1' } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'weather', input: { city: 'c2' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', output: { type: 'text', value: 'sun' } },
          { toolCallId: 'c2', output: { type: 'error-text', value: 'no such city' } },
        ],
      },
      { role: 'user' },
    ])
  })

  test('ids that Anthropic refuses are renamed for it, in the call and in its result', async () => {
    const messages = [
      user('hi'),
      assistant('', { toolCalls: [{ id: 'functions.weather:0', name: 'weather', arguments: {} }] }),
      toolResult('functions.weather:0', 'sun'),
    ]
    const ids = async (provider: string) =>
      JSON.stringify((await sentFor(messages, {}, { provider })).call['prompt'])
        .match(/"toolCallId":"[^"]*"/g)
        ?.map((text) => text.slice(14, -1))
    expect(await ids('anthropic.messages')).toEqual(['functions_weather_0', 'functions_weather_0'])
    expect(await ids('moonshot.chat')).toEqual(['functions.weather:0', 'functions.weather:0'])
  })

  test.each<[Version, unknown]>([
    ['v2', png],
    ['v3', png],
    ['v4', { type: 'data', data: png }],
  ])('files in %s', async (version, data) => {
    const pdf = fileFromBase64(btoa('%PDF-1.4'), 'application/pdf', { name: 'a.pdf' })
    const { call } = await sentFor(
      [user([imagePart(imageFromBase64(png)), filePart(pdf)])],
      {},
      { version },
    )
    expect(call['prompt']).toMatchObject([
      {
        content: [
          {
            type: 'file',
            mediaType: 'image/png',
            data,
          },
          { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf' },
        ],
      },
    ])
  })

  test.each([['openai'], ['azure']])(
    'the detail of an image is where the package of %s looks for it',
    async (name) => {
      const sent = { [name]: { imageDetail: 'low' } }
      const image = imageFromBase64(png)
      const own = { mine: { imageDetail: 'high' } }
      const parts = [
        imagePart(image, { detail: 'low' }),
        imagePart(image),
        imagePart(image, { detail: 'low', providerOptions: own }),
      ]
      const options = { provider: 'mine', optionsName: name }
      const { call } = await sentFor([user(parts)], {}, { options })
      expect(call).toMatchObject({
        prompt: [
          {
            content: [
              { providerOptions: sent },
              { providerOptions: {} },
              // Options of the caller's own win.
              { providerOptions: { [name]: { imageDetail: 'high' } } },
            ],
          },
        ],
      })
    },
  )

  test.each<[Version, unknown]>([
    ['v2', { type: 'media', data: png, mediaType: 'image/png' }],
    ['v3', { type: 'image-data', data: png, mediaType: 'image/png' }],
    ['v4', { type: 'file', data: { type: 'data', data: png }, mediaType: 'image/png' }],
  ])('an image in a result in %s', async (version, part) => {
    const image = imagePart(imageFromBase64(png))
    const { call } = await sentFor(
      [
        user('hi'),
        assistant('', { toolCalls: [{ id: 'c1', name: 'look', arguments: {} }] }),
        toolResult('c1', [textPart('a picture'), image]),
      ],
      {},
      { version },
    )
    expect(call['prompt']).toMatchObject([
      {},
      {},
      {
        content: [
          { output: { type: 'content', value: [{ type: 'text', text: 'a picture' }, part] } },
        ],
      },
    ])
  })

  test('an address is passed on if the model fetches it itself, and refused otherwise', async () => {
    const image = [user([textPart('Look.'), imagePart(imageFromUrl('https://Example.com/a.png'))])]
    const supportedUrls = { 'image/*': [/^https:\/\/example\.com\//g] }
    for (const version of versions) {
      for (const urls of [supportedUrls, Promise.resolve(supportedUrls)]) {
        const { call } = await sentFor(image, {}, { version, supportedUrls: urls })
        const url = new URL('https://example.com/a.png')
        expect(call['prompt']).toMatchObject([
          { content: [{}, { data: version === 'v4' ? { type: 'url', url } : url }] },
        ])
      }
      await expect(sentFor(image, {}, { version })).rejects.toMatchObject({
        reason: 'unsupported_feature',
        message:
          'messages[0].content[1]: parrot.chat does not take image/png by URL here: pass its bytes',
      })
    }
    const stored = [user([filePart(fileFromId('file_1', 'parrot.chat'))])]
    await expect(sentFor(stored)).rejects.toMatchObject({ reason: 'unsupported_feature' })
  })

  test('reasoning and items go back to their provider only', async () => {
    const message = (provider: string): Message => ({
      role: 'assistant',
      content: [
        {
          type: 'reasoning',
          text: 'hm',
          provider,
          opaque: { aiSdk: provider, metadata: { parrot: { s: 1 } } },
        },
        { type: 'text', text: 'a' },
        { type: 'provider_item', provider, item: { type: 'custom', kind: 'parrot.note' } },
        { type: 'text', text: 'b' },
      ],
    })
    const sent = async (provider: string) =>
      (await sentFor([user('hi'), message(provider), user('go on')], {}, { version: 'v4' })).call[
        'prompt'
      ]
    expect(await sent('parrot.chat')).toMatchObject([
      {},
      {
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { parrot: { s: 1 } } },
          { type: 'text', text: 'a' },
          { type: 'custom', kind: 'parrot.note' },
          { type: 'text', text: 'b' },
        ],
      },
      {},
    ])
    expect(await sent('other')).toMatchObject([
      {},
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      {},
    ])
  })

  test('the answer to a request for approval is a turn of its own', async () => {
    const item = { type: 'tool-approval-response', approvalId: 'a1', approved: true }
    const { call } = await sentFor([
      user([{ type: 'provider_item', provider: 'parrot.chat', item }, textPart('Go ahead.')]),
    ])
    expect(call['prompt']).toMatchObject([
      { role: 'tool', content: [item] },
      { role: 'user', content: [{ type: 'text', text: 'Go ahead.' }] },
    ])
  })
})

test.each(versions)(
  '%s: an answer of which the model takes nothing back is left out',
  async (version) => {
    const { call } = await sentFor(
      [
        user('one'),
        { role: 'assistant', content: '', finishReason: 'content_filter', agent: 'Desk' },
        {
          role: 'assistant',
          content: [{ type: 'reasoning', text: 'hm', provider: 'another' }],
          finishReason: 'length',
        },
        user('two'),
      ],
      {},
      { version },
    )
    expect(call['prompt']).toMatchObject([{ role: 'user' }, { role: 'user' }])
    expect(JSON.stringify(call)).not.toMatch(/Desk|content_filter|length/)
  },
)
