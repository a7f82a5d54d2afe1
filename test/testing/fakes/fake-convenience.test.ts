import { describe, expect, test } from 'vitest'
import {
  chat,
  collect,
  createEngine,
  generate,
  messageText,
  modelRequest,
  streamGenerate,
} from '../../../src/index.ts'
import {
  collectEvents,
  fake,
  fakeImages,
  foldToResponse,
  interpret,
  virtualClock,
  type ScriptEntry,
} from '../../../src/testing.ts'

describe('a script that is written by hand', () => {
  test('needs no as const, and a bare text is a text', async () => {
    const script = [['text', 'One, '], 'two, ', ['usage', { outputTokens: 3 }], 'three.']
    const { outputText, usage } = await generate(createEngine({ adapter: fake({ script }) }), 'go')
    expect(outputText).toBe('One, two, three.')
    expect(usage).toEqual({ outputTokens: 3 })
    const scripts = [['Hello.'], ['Bye.']]
    const adapter = fake({ scripts })
    const engine = createEngine({ adapter })
    expect((await generate(engine, 'go')).outputText).toBe('Hello.')
    expect((await chat(engine, 'go')).outputText).toBe('Bye.')
    adapter.assertDone()
  })

  test('is still checked: an entry outside of a list, a wrong tag, a mixture', () => {
    expect(() => fake({ script: ['text', 'Hello.'] })).toThrow(/put it into a list/)
    expect(() => fake({ scripts: [['text', 'Hello.']] })).toThrow(/use script for a single call/)
    expect(() => fake({ script: [['txt', 'Hello.']] })).toThrow(/unknown tag "txt"/)
    expect(() => fake({ script: ['Hello.', ['ok', {}]] })).toThrow(/mixes two vocabularies/)
  })
})

describe('a script that is a function of the request', () => {
  test('gives each conversation its own answer, however they interleave', async () => {
    const adapter = fake({
      script: ({ messages }, { call }) => [
        ['delay', call % 2 === 0 ? 5 : 50],
        `for ${messages[0] === undefined ? '' : messageText(messages[0])}`,
      ],
    })
    const engine = createEngine({ adapter, clock: virtualClock() })
    const names = ['A', 'B', 'C', 'D']
    const answers = await Promise.all(names.map((name) => chat(engine, name)))
    expect(answers.map(({ outputText }) => outputText)).toEqual(names.map((name) => `for ${name}`))
    expect(adapter.remaining).toBe(0)
    expect(() => adapter.assertDone()).not.toThrow()
  })

  test('counts the calls from 1, and is checked when it is called', async () => {
    const calls: number[] = []
    const engine = createEngine({
      adapter: fake({
        script: (_request, { call }) => {
          calls.push(call)
          return call < 3 ? ['ok'] : [['nope', 1]]
        },
      }),
    })
    await generate(engine, 'go')
    await generate(engine, 'go')
    await expect(generate(engine, 'go')).rejects.toMatchObject({ reason: 'invalid_script' })
    expect(calls).toEqual([1, 2, 3])
  })
})

describe('retryUntilCall', () => {
  test('shows a retry through an engine', async () => {
    const clock = virtualClock()
    const adapter = fake({ script: ['done'], retryUntilCall: 3 })
    const retry = { jitterMs: 0 }
    const { outputText } = await generate(createEngine({ adapter, clock, retry }), 'go')
    expect(outputText).toBe('done')
    expect(adapter.calls).toHaveLength(3)
    expect(clock.now()).toBe(1500)
  })

  test('is an error in the middle of a stream that is called directly', async () => {
    const events = await collectEvents(
      fake({ script: ['done'], retryUntilCall: 2 }).stream(modelRequest('go')),
    )
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'error'])
  })

  test('fails through an engine whose policy does not retry', async () => {
    const adapter = fake({ script: ['done'], retryUntilCall: 2 })
    const engine = createEngine({ adapter, retry: false })
    await expect(collectEvents(streamGenerate(engine, 'go'))).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'timeout',
    })
  })
})

test('foldToResponse returns on the first harness entry that is a whole call', () => {
  expect(
    foldToResponse([
      ['ok', { outputText: 'a' }],
      ['ok', { outputText: 'b' }],
    ]).outputText,
  ).toBe('a')
  expect(
    foldToResponse([
      ['text', 'x'],
      ['ok', { outputText: 'a' }],
    ]).outputText,
  ).toBe('a')
  expect(() =>
    foldToResponse([
      ['error', 'timeout', {}],
      ['ok', {}],
    ]),
  ).toThrow(expect.objectContaining({ reason: 'timeout' }))
})

test('collect takes the batches of an adapter', async () => {
  expect((await collect(fake({ script: ['a', 'b'] }).stream(modelRequest('go')))).outputText).toBe(
    'ab',
  )
})

test('interpret names both vocabularies when it does not know a tag', () => {
  expect(() => interpret(['nope', 1] as unknown as ScriptEntry)).toThrow(
    /unknown tag "nope"; scripts have text, .* harness scripts have/,
  )
})

test('the operations of one image fake are not those of another', () => {
  const operations = fakeImages({ script: [] }).supportedOperations() as string[]
  operations.push('hack')
  expect(fakeImages({ script: [] }).supportedOperations()).not.toContain('hack')
})
