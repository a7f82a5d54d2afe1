import { describe, expect, test } from 'vitest'
import { AdapterError, ValidationError, type ModerationRequest } from '../../../src/index.ts'
import {
  fakeModeration,
  moderationResult,
  type FakeModerationOptions,
} from '../../../src/testing.ts'

function asking(...input: readonly string[]): ModerationRequest {
  return { input, providerOptions: {}, metadata: { trace: 't1' } }
}

describe('a moderation fake', () => {
  test('finds everything clean, with the known categories at 0', async () => {
    const response = await fakeModeration().moderate(asking('a', 'b'))
    expect(response).toEqual({
      requestId: 'fake-request-1',
      provider: 'fake',
      flagged: false,
      results: [moderationResult(), moderationResult()],
      usage: {},
      warnings: [],
      metadata: { trace: 't1' },
    })
    const [first] = response.results
    expect(Object.keys(first?.categories ?? {})).toHaveLength(13)
    expect(new Set(Object.values(first?.scores ?? {}))).toEqual(new Set([0]))
  })

  test('plays its script, and then fails', async () => {
    const adapter = fakeModeration({
      script: [
        ['ok', [moderationResult('hate')], { id: 'm1', model: 'judge', usage: { inputTokens: 4 } }],
        ['error', new AdapterError('provider_unavailable', 'down')],
        ['retry_until_call', 2],
        ['ok', [moderationResult()]],
      ],
    })
    expect(await adapter.moderate(asking('a'))).toMatchObject({
      flagged: true,
      id: 'm1',
      model: 'judge',
      usage: { inputTokens: 4 },
    })
    await expect(adapter.moderate(asking('a'))).rejects.toMatchObject({
      reason: 'provider_unavailable',
    })
    await expect(adapter.moderate(asking('a'))).rejects.toMatchObject({ reason: 'rate_limited' })
    expect((await adapter.moderate(asking('a'))).flagged).toBe(false)
    adapter.assertDone()
    await expect(adapter.moderate(asking('a'))).rejects.toMatchObject({
      reason: 'no_scripted_response',
    })
    expect(adapter.calls).toHaveLength(5)
  })

  test('judges by a function', async () => {
    const adapter = fakeModeration({ flag: (text) => (text === 'b' ? ['hate', 'mine'] : []) })
    const { results } = await adapter.moderate(asking('a', 'b'))
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true])
    expect(results[1]?.categories).toMatchObject({ hate: true, mine: true, violence: false })
    expect(results[1]?.scores).toMatchObject({ hate: 1, mine: 1, violence: 0 })
  })

  test('refuses more than its limits', async () => {
    const adapter = fakeModeration({ maxTexts: 2, script: [['ok', [moderationResult()]]] })
    await expect(adapter.moderate(asking('a', 'b', 'c'))).rejects.toMatchObject({
      reason: 'invalid_request',
      message: 'input has 3 texts; one call takes at most 2',
    })
    // A refusal plays nothing.
    expect(adapter.remaining).toBe(1)
  })

  test.each<[unknown, string, string]>([
    [{ script: [['ok', [{ flagged: true }]]] }, 'invalid_script', 'script[0][1][0].categories'],
    [{ script: [['ok', 'clean']] }, 'invalid_script', 'script[0][1]'],
    [{ script: [['flagged', ['hate']]] }, 'invalid_script', 'script[0]'],
    [{ flag: 'hate' }, 'invalid_options', 'flag'],
    [{ maxTexts: 0 }, 'invalid_options', 'maxTexts'],
    [{ flags: () => [] }, 'invalid_options', ''],
    [{ script: [], flag: () => [] }, 'invalid_options', 'flag'],
  ])('refuses %j', (options, reason, path) => {
    const make = () => fakeModeration(options as FakeModerationOptions)
    expect(make).toThrow(ValidationError)
    expect(make).toThrow(expect.objectContaining({ reason }) as Error)
    try {
      make()
    } catch (error) {
      expect((error as ValidationError).issues[0]?.path).toBe(path)
    }
  })

  test('a function that returns no list fails the call', async () => {
    const flag = (() => true) as unknown as FakeModerationOptions['flag']
    await expect(fakeModeration({ flag }).moderate(asking('a'))).rejects.toMatchObject({
      reason: 'invalid_options',
      message: expect.stringContaining('must return a list of categories') as string,
    })
  })
})
