import { describe, expect, test } from 'vitest'
import { AdapterError, modelRequest, user, ValidationError } from '../../../src/index.ts'
import { createScriptCursor, fake, type Fake, type Script } from '../../../src/testing.ts'

const request = modelRequest([user('hi')])
const says = (text: string): Script => [['text', text]]

async function generated(adapter: Fake): Promise<string> {
  return (await adapter.generate(request)).outputText
}

async function streamed(adapter: Fake): Promise<string> {
  let text = ''
  for await (const batch of adapter.stream(request)) {
    for (const event of batch) if (event.type === 'text_delta') text += event.delta
  }
  return text
}

describe('each call plays one script', () => {
  test('script is one call', async () => {
    const adapter = fake({ script: says('a') })
    expect(await generated(adapter)).toBe('a')
    await expect(generated(adapter)).rejects.toThrow(AdapterError)
  })

  test('scripts has one list per call, and generate and stream share them', async () => {
    const adapter = fake({ scripts: [says('a'), says('b'), says('c')] })
    expect(await generated(adapter)).toBe('a')
    expect(await streamed(adapter)).toBe('b')
    expect(await generated(adapter)).toBe('c')
  })

  test('streamScript is a flat list for one call, or a list for each', async () => {
    expect(await streamed(fake({ streamScript: says('a') }))).toBe('a')
    const adapter = fake({ streamScript: [says('a'), says('b')] })
    expect([await streamed(adapter), await streamed(adapter)]).toEqual(['a', 'b'])
  })

  test('with script and streamScript, each method has its own', async () => {
    const adapter = fake({ scripts: [says('g1'), says('g2')], streamScript: [says('s1')] })
    expect(await generated(adapter)).toBe('g1')
    expect(await streamed(adapter)).toBe('s1')
    expect(await generated(adapter)).toBe('g2')
    expect(adapter.remaining).toBe(0)
  })

  test('streamScript alone serves generate too', async () => {
    expect(await generated(fake({ streamScript: says('a') }))).toBe('a')
  })

  test('concurrent calls take one script each, in the order in which they are read', async () => {
    const adapter = fake({ scripts: [says('a'), says('b'), says('c')] })
    const texts = await Promise.all([generated(adapter), streamed(adapter), generated(adapter)])
    expect(texts).toEqual(['a', 'b', 'c'])
  })
})

describe('a call after the last script', () => {
  test('is no_scripted_response, and says how many scripts there were and which call this is', async () => {
    const adapter = fake({ scripts: [says('a'), says('b')] })
    await generated(adapter)
    await generated(adapter)
    const failure = await adapter
      .stream(request, { requestId: 'r3' })
      .next()
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AdapterError)
    expect(failure).toMatchObject({
      reason: 'no_scripted_response',
      message: 'no scripted response for call 3: the fake has 2 scripts',
      provider: 'fake',
      requestId: 'r3',
      retryable: false,
    })
  })

  test('says so when it may be the retry of a call that failed', async () => {
    const adapter = fake({ script: [['preflight_error', 'rate_limited', {}]] })
    const call = () => adapter.stream(request).next()
    await expect(call()).rejects.toMatchObject({ reason: 'rate_limited' })
    await expect(call()).rejects.toMatchObject({
      reason: 'no_scripted_response',
      message: expect.stringMatching(/failed with rate_limited.*may be a retry/),
      cause: { reason: 'rate_limited' },
    })
  })

  test('a fake without scripts has none', async () => {
    await expect(generated(fake())).rejects.toThrow(/call 1: the fake has 0 scripts/)
  })
})

describe('scripts that are left over', () => {
  test('are counted, and assertDone fails as long as there are some', async () => {
    const adapter = fake({ scripts: [says('a'), says('b')] })
    expect(adapter.remaining).toBe(2)
    await generated(adapter)
    expect(adapter.remaining).toBe(1)
    expect(() => adapter.assertDone()).toThrow(ValidationError)
    expect(() => adapter.assertDone()).toThrow(
      /1 script was not played: script 2 is \[\["text","b"\].*\. The fake was called once/,
    )
    await generated(adapter)
    expect(adapter.assertDone()).toBeUndefined()
  })

  test('count for both methods', () => {
    expect(fake({ script: says('a'), streamScript: [says('b'), says('c')] }).remaining).toBe(3)
  })
})

describe('the place in the scripts', () => {
  test('is the fake’s own: two fakes with equal scripts do not collide', async () => {
    const scripts = [says('a'), says('b')]
    const [one, two] = [fake({ scripts }), fake({ scripts })]
    expect([await generated(one), await generated(two), await generated(one)]).toEqual([
      'a',
      'a',
      'b',
    ])
  })

  test('can be a cursor whose index says how many calls were consumed', async () => {
    const scriptCursor = createScriptCursor()
    const adapter = fake({ scripts: [says('a'), says('b')], scriptCursor })
    expect(scriptCursor.index).toBe(0)
    await generated(adapter)
    expect(scriptCursor.index).toBe(1)
  })

  test('can be shared by fakes, which then take turns', async () => {
    const scriptCursor = createScriptCursor()
    const scripts = [says('a'), says('b'), says('c')]
    const [one, two] = [fake({ scripts, scriptCursor }), fake({ scripts, scriptCursor })]
    expect([await generated(one), await generated(two), await generated(one)]).toEqual([
      'a',
      'b',
      'c',
    ])
    expect([one.remaining, two.remaining]).toEqual([0, 0])
  })

  test('stays at the end when calls go on', async () => {
    const scriptCursor = createScriptCursor()
    const adapter = fake({ script: says('a'), scriptCursor })
    await generated(adapter)
    await expect(generated(adapter)).rejects.toThrow(AdapterError)
    expect(scriptCursor.index).toBe(1)
  })

  test('is shared across concurrent tasks', async () => {
    const scriptCursor = createScriptCursor()
    const scripts = Array.from({ length: 20 }, (_, index) => says(`${index}`))
    const task = async (): Promise<string> => generated(fake({ scripts, scriptCursor }))
    const texts = await Promise.all(scripts.map(task))
    expect(new Set(texts).size).toBe(20)
  })
})
