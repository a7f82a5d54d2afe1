import { describe, expect, test } from 'vitest'
import {
  createEngine,
  generate,
  isSendable,
  modelRequest,
  Session,
  tool,
  user,
  type ModelResponse,
} from '../../src/index.ts'
import type { Script } from '../../src/testing.ts'
import { wireFormats, type WireFormat } from '../../src/testing/server/wire-format.ts'
import { renderWire } from '../../src/testing/server/wire.ts'
import {
  answeringAdapter,
  hostileAnswer,
  hostileFormats,
  plainAnswer,
} from '../support/hostile-answers.ts'

test('the same seed gives the same hostile answer, and another seed another one', () => {
  for (const format of hostileFormats) {
    expect(hostileAnswer(format, 7)).toEqual(hostileAnswer(format, 7))
    const different = new Set(
      Array.from({ length: 50 }, (_, seed) => hostileAnswer(format, seed).body.join()),
    )
    expect(different.size).toBeGreaterThan(40)
  }
})

type Rewrite = (text: string) => string

function written(format: WireFormat, script: Script, stream: boolean, rewrite: Rewrite) {
  const { frames, headers } = renderWire(format, script, { stream })
  const text = frames.map(({ bytes }) => new TextDecoder().decode(bytes)).join('')
  const body = new TextEncoder().encode(rewrite(text))
  return { body, contentType: headers['content-type'] ?? '' }
}

/** A session whose first answer is rewritten on its way; what the tools got, and how it ended. */
async function run(format: WireFormat, script: Script, rewrite: Rewrite) {
  const got: unknown[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object', properties: {} },
    handler: (args) => {
      got.push(args)
      return 'paid'
    },
  })
  const answers = [written(format, script, true, rewrite), plainAnswer(format)]
  const adapter = answeringAdapter(format, answers)
  const engine = createEngine({ adapter, model: 'a-model', tools: [pay], retry: false })
  const { session, result } = await Session.start(engine, [user('go')])
  return { got, session, result }
}

/** The same answer, asked for whole. */
function whole(format: WireFormat, script: Script, rewrite: Rewrite): Promise<ModelResponse> {
  const adapter = answeringAdapter(format, [written(format, script, false, rewrite)])
  const made = adapter.generate?.(modelRequest([user('go')], { model: 'a-model' }))
  return made ?? Promise.reject(new TypeError('no generate'))
}

const twoPayments: Script = [
  ['tool_call', { id: 'call_1', name: 'pay', arguments: { amount: 1 } }],
  ['tool_call', { id: 'call_2', name: 'pay', arguments: { amount: 2 } }],
  ['usage', { inputTokens: 5, outputTokens: 7, totalTokens: 12 }],
]

describe.each(wireFormats)('on %s', (format) => {
  test('two calls of one id are two calls, and the thread can be sent', async () => {
    const alike: Rewrite = (text) => text.replaceAll('call_2', 'call_1')
    const { got, session } = await run(format, twoPayments, alike)
    expect(got).toEqual([{ amount: 1 }, { amount: 2 }])
    expect(session.status).toBe('completed')
    expect(isSendable(session.thread)).toBe(true)
    const ids = session.thread.messages.flatMap(({ toolCalls = [] }) =>
      toolCalls.map(({ id }) => id),
    )
    expect(ids[0]).toBe('call_1')
    expect(new Set(ids).size).toBe(2)
    const { toolCalls } = await whole(format, twoPayments, alike)
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(2)
  })

  test('a number that is not finite is never run, and the call keeps its text', async () => {
    const infinite: Rewrite = (text) => text.replaceAll(/(\\?"amount\\?":)1\b/g, '$11e999')
    const { got, session } = await run(format, twoPayments, infinite)
    expect(got).toEqual([{ amount: 2 }])
    const [, answer, refused] = session.thread.messages
    expect(answer?.toolCalls?.[0]).toMatchObject({
      arguments: {},
      rawArguments: expect.stringContaining('1e999'),
    })
    expect(refused?.content).toContain('have a number that is too large')
    expect(Session.parse(Session.stringify(session))).toEqual(session)
    const { toolCalls } = await whole(format, twoPayments, infinite)
    expect(toolCalls[0]).toMatchObject({ arguments: {}, rawArguments: expect.any(String) })
  })

  test('arguments that are an object in place of its text are taken; those of any other kind are never run', async () => {
    const textual = /("(?:arguments|partial_json)":)"\{\\"amount\\":1\}"/g
    const object = await run(format, twoPayments, (text) =>
      text.replaceAll(textual, '$1{"amount":1}'),
    )
    expect(object.got).toEqual([{ amount: 1 }, { amount: 2 }])
    for (const value of ['5', 'true', '["amount"]']) {
      const other: Rewrite = (text) =>
        text
          .replaceAll(textual, `$1${value}`)
          .replaceAll(/("(?:args|input)":)\{"amount":1\}/g, `$1${value}`)
      const { got, session } = await run(format, twoPayments, other)
      expect(got).toEqual([{ amount: 2 }])
      expect(session.thread.messages[1]?.toolCalls?.[0]).toMatchObject({
        arguments: {},
        rawArguments: expect.stringContaining(value),
      })
      expect(session.thread.messages[2]?.content).toContain('must be a JSON object')
      expect(isSendable(session.thread)).toBe(true)
      const { toolCalls } = await whole(format, twoPayments, other)
      expect(toolCalls[0]).toMatchObject({ arguments: {}, rawArguments: value })
    }
  })

  test('arguments of 501 levels are never run; those of 500 are', async () => {
    const depth = (levels: number): Rewrite => {
      const nested = '['.repeat(levels - 1) + ']'.repeat(levels - 1)
      return (text) => text.replaceAll(/(\\?"amount\\?":)1\b/g, `$1${nested}`)
    }
    expect((await run(format, twoPayments, depth(500))).got).toHaveLength(2)
    const { got, session } = await run(format, twoPayments, depth(501))
    expect(got).toEqual([{ amount: 2 }])
    expect(session.thread.messages[2]?.content).toContain('nested deeper than 500 levels')
  })

  test('arguments with a member named __proto__ are never run, and the model is told', async () => {
    const polluted: Rewrite = (text) =>
      text
        .replaceAll(/(\\?)"amount\\?":1\b/g, '$1"__proto__$1":{$1"admin$1":true},$1"amount$1":1')
        .replaceAll(/"(usage|usageMetadata)":\{/g, '"$1":{"__proto__":{"polluted":1},')
    const { got, result, session } = await run(format, twoPayments, polluted)
    expect(got).toEqual([{ amount: 2 }])
    expect(session.thread.messages[2]?.content).toContain('must not have a member named __proto__')
    for (const { response } of result.steps) {
      const { extra } = response.usage
      expect(JSON.parse(JSON.stringify(response))).toStrictEqual(response)
      expect(Object.hasOwn(extra ?? {}, '__proto__')).toBe(false)
    }
  })

  test('a body of nothing but [DONE] is not a success', async () => {
    const done = {
      body: new TextEncoder().encode('data: [DONE]\n\n'),
      contentType: 'text/event-stream',
    }
    const adapter = answeringAdapter(format, [done])
    const engine = createEngine({ adapter, model: 'a-model', retry: false })
    await expect(generate(engine, [user('go')])).rejects.toMatchObject({ reason: 'truncated' })
  })
})

test.each(['openai_responses', 'gemini'] as const)(
  'an image of %s that is not base64 is left out, and named',
  async (format) => {
    const image = { type: 'base64', base64: 'aGVsbG8h', mimeType: 'image/png' } as const
    const content = [
      { type: 'text', text: 'Look:' },
      { type: 'image', image },
    ] as const
    const script: Script = [['ok', { message: { role: 'assistant', content } }]]
    const spoiled: Rewrite = (text) => text.replaceAll('aGVsbG8h', '!hello!!')
    const { session, result } = await run(format, script, spoiled)
    expect(session).toMatchObject({ status: 'completed' })
    expect(session.thread.messages.at(-1)?.content).toMatch(/^Look:$/)
    expect(result.finalResponse?.metadata['invalidImages']).toEqual([
      expect.stringContaining('is not base64'),
    ])
    expect(Session.parse(Session.stringify(session))).toEqual(session)
  },
)

/** What carries the content of an answer, and the same member as something else. */
const misfits: Readonly<Record<WireFormat, readonly (readonly [RegExp, string])[]>> = {
  openai_chat: [
    [/"content":"second"/, '"content":5'],
    [/"content":"second"/, '"content":{"text":"second"}'],
    [/"content":"second"/, '"tool_calls":"x"'],
  ],
  openai_responses: [[/"delta":"second"/, '"delta":5']],
  anthropic: [],
  gemini: [
    [/"parts":\[\{"text":"second"\}\]/, '"parts":"x"'],
    [/"text":"second"/, '"functionCall":{"args":{"a":1}}'],
  ],
}

test.each(
  wireFormats.flatMap((format) => misfits[format].map((misfit) => [format, ...misfit] as const)),
)('on %s, %s as %s is an event that cannot be read', async (format, member, other) => {
  const script: Script = [
    ['text', 'first'],
    ['text', 'second'],
  ]
  const answer = written(format, script, true, (text) => {
    expect(text).toMatch(member)
    return text.replace(member, other)
  })
  const adapter = answeringAdapter(format, [answer])
  const engine = createEngine({ adapter, model: 'a-model', retry: false })
  await expect(generate(engine, 'go')).rejects.toMatchObject({
    reason: 'malformed_event',
    message: expect.stringContaining('sent an event that cannot be read'),
    partial: { outputText: 'first' },
  })
})
