import { describe, expect, expectTypeOf, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { mergeOptions, mergeProviderOptions } from '../../../src/core/messages/provider-options.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { gemini } from '../../../src/gemini.ts'
import {
  createEngine,
  generate,
  generateImage,
  textPart,
  tool,
  user,
  type CallOptions,
  type ProviderOptions,
} from '../../../src/index.ts'
import { openai, type OpenAiProviderOptions } from '../../../src/openai.ts'
import { fake, fakeImages } from '../../../src/testing.ts'

describe('one rule', () => {
  test.each<readonly [string, JsonObject, JsonObject, JsonObject]>([
    ['a value is replaced', { a: 1, b: 1 }, { b: 2 }, { a: 1, b: 2 }],
    [
      'objects are merged all the way down',
      { a: { b: { c: 1, d: 1 }, e: 1 } },
      { a: { b: { d: 2 } } },
      { a: { b: { c: 1, d: 2 }, e: 1 } },
    ],
    ['a list is replaced', { stop: ['a'] }, { stop: ['b'] }, { stop: ['b'] }],
    ['tools are added', { tools: [1] }, { tools: [1, 2] }, { tools: [1, 2] }],
    [
      'tools inside something are a list as any other',
      { a: { tools: [1] } },
      { a: { tools: [2] } },
      { a: { tools: [2] } },
    ],
    [
      'an object whose type differs replaces the other, at any depth',
      { t: { type: 'enabled', budget: 9 }, a: { f: { type: 'x', y: 1 } } },
      { t: { type: 'disabled' }, a: { f: { type: 'z' } } },
      { t: { type: 'disabled' }, a: { f: { type: 'z' } } },
    ],
    [
      'an object of the same type, or without one, is merged',
      { t: { type: 'enabled', budget: 9 }, c: { type: 'any' } },
      { t: { type: 'enabled', show: true }, c: { parallel: false } },
      { t: { type: 'enabled', budget: 9, show: true }, c: { type: 'any', parallel: false } },
    ],
    ['null is a value', { a: { b: 1 } }, { a: null }, { a: null }],
  ])('%s', (_name, body, options, expected) => {
    expect(mergeOptions(body, options)).toEqual(expected)
    const layers = mergeProviderOptions({ openai: body }, undefined, { openai: options })
    expect(layers).toEqual({ openai: expected })
  })

  test.each([
    ['openai', openai, 'gpt-4o'],
    ['anthropic', anthropic, 'claude-haiku-4-5'],
    ['gemini', gemini, 'gemini-2.5-flash'],
  ] as const)('holds for %s, from the engine to the wire', async (api, adapterOf, model) => {
    const bodies: unknown[] = []
    const adapter = adapterOf({
      baseUrl: 'https://wire.test/v1',
      provider: 'mine',
      fetch: async (_url, init) => {
        bodies.push(await new Response(init.body ?? null).json())
        return new Response('', { status: 418 })
      },
    })
    const engine = createEngine({
      adapter,
      model,
      providerOptions: { [api]: { x: { a: { b: 1 }, list: [1] }, tools: [{ type: 'one' }] } },
    })
    const options: CallOptions = {
      providerOptions: {
        [api]: { x: { list: [2] }, tools: [{ type: 'two' }] },
        mine: { x: { a: { c: 1 } } },
      },
    }
    await generate(engine, [user('go')], options).catch(() => undefined)
    expect(bodies).toMatchObject([
      { x: { a: { b: 1, c: 1 }, list: [2] }, tools: [{ type: 'one' }, { type: 'two' }] },
    ])
  })
})

describe('the name of a provider', () => {
  const weather = tool({
    name: 'weather',
    description: 'The weather.',
    schema: { type: 'object' },
    handler: () => 21,
  })
  const engine = createEngine({ adapter: fake({ script: [['text', 'hi']] }), retry: false })

  test('that nobody reads is refused, with the nearest name', async () => {
    await expect(
      generate(engine, [user('go')], { providerOptions: { opnai: { store: true } } }),
    ).rejects.toMatchObject({
      reason: 'invalid_request',
      issues: [
        { path: 'providerOptions.opnai', problem: 'is not a provider: did you mean openai?' },
      ],
    })
    await expect(
      generateImage(createEngine({ imageAdapter: fakeImages({ script: [] }) }), 'a cat', {
        providerOptions: { geminy: {} },
      }),
    ).rejects.toThrow('did you mean gemini?')
  })

  test('is checked in messages, parts and tools too, with its place as the caller counts', async () => {
    const misspelt = { providerOptions: { antropic: { cacheControl: { type: 'ephemeral' } } } }
    const asked = generate(
      engine,
      [user('one', misspelt), user([textPart('two'), textPart('three', misspelt)])],
      { instructions: 'Be brief.', tools: [{ ...weather, ...misspelt }] },
    )
    await expect(asked).rejects.toMatchObject({
      reason: 'invalid_request',
      issues: [
        'messages[0].providerOptions.antropic',
        'messages[1].content[1].providerOptions.antropic',
        'tools[0].providerOptions.antropic',
      ].map((path) => ({ path, problem: 'is not a provider: did you mean anthropic?' })),
    })
  })

  test('is legal when it is built in or the adapter’s own', async () => {
    const providerOptions = { openai: {}, azure: {}, anthropic: {}, gemini: {}, fake: {} }
    expect((await generate(engine, [user('go')], { providerOptions })).outputText).toBe('hi')
  })
})

test('known options are typed, and the rest still passes', () => {
  const options: ProviderOptions = {
    openai: { service_tier: 'flex', store: true, brand_new: { anything: 1 } },
    anthropic: { thinking: { type: 'enabled', budget_tokens: 2048 } },
    gemini: { safetySettings: [{ category: 'c', threshold: 't' }] },
    groq: { anything: true },
  }
  expectTypeOf(options.openai?.store).toEqualTypeOf<boolean | undefined>()
  expectTypeOf<OpenAiProviderOptions['previous_response_id']>().toEqualTypeOf<string | undefined>()
  // @ts-expect-error a known option of the wrong type
  const wrong: ProviderOptions = { openai: { store: 'yes' } }
  expect(wrong).toBeDefined()
})
