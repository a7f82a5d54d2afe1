import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isAllmError, modelRequest, user, ValidationError } from '../../../src/index.ts'
import {
  collectEvents,
  detectShape,
  fake,
  foldToResponse,
  validateScript,
  virtualClock,
  type Script,
} from '../../../src/testing.ts'
import { endingScript, script } from '../../support/scripts.ts'

describe('detectShape', () => {
  test.each<readonly ['spec31' | 'harness', Script]>([
    [
      'spec31',
      [
        ['text', 'hi'],
        ['finish', 'stop'],
      ],
    ],
    ['spec31', [['reasoning', 'hm']]],
    ['spec31', [['tool_call_delta', { id: 'c1', argumentsDelta: '{' }]]],
    ['spec31', [['usage', { inputTokens: 1 }]]],
    ['spec31', [['raw_chunk', { any: 'thing' }]]],
    ['spec31', [['delay', 5]]],
    ['spec31', [['sleep', 5]]],
    ['harness', [['ok', { outputText: 'hi' }]]],
    ['harness', [['text_delta', 'hi']]],
    ['harness', [['preflight_error', 'timeout', {}]]],
    ['harness', [['error_event', 'timeout', {}]]],
    ['harness', [['stream_error', 'truncated', {}]]],
  ])('a script is %s by its leading tag: %j', (shape, script) => {
    expect(detectShape(script)).toEqual([shape, script])
  })

  test('the script itself is returned beside its shape', () => {
    const script: Script = [['text', 'hi']]
    expect(detectShape(script)[1]).toBe(script)
  })

  test('the length of error decides: two elements are spec31, three are harness', () => {
    expect(detectShape([['error', 'timeout']])[0]).toBe('spec31')
    expect(detectShape([['error', 'timeout', {}]])[0]).toBe('harness')
  })

  test('tags that both vocabularies share count as spec31', () => {
    expect(detectShape([['finish', 'stop']])[0]).toBe('spec31')
    expect(detectShape([['tool_call', { id: 'c1', name: 'add' }]])[0]).toBe('spec31')
  })

  test('only the first entry counts', () => {
    expect(
      detectShape([
        ['finish', 'stop'],
        ['text_delta', 'late'],
      ])[0],
    ).toBe('spec31')
  })

  test('the empty script is spec31', () => {
    expect(detectShape([])).toEqual(['spec31', []])
  })

  test('an unknown leading tag throws and names both vocabularies, so that a typing error is seen', () => {
    // A tag that the types do not have, as JavaScript or JSON may bring it.
    const script = [['txet', 'hi']] as unknown as Script
    expect(() => detectShape(script)).toThrow(ValidationError)
    expect(() => detectShape(script)).toThrow(/"txet".*text, reasoning.*ok, text_delta/)
  })
})

const request = modelRequest([user('hi')])

const options = () => ({ requestId: 'r1', clock: virtualClock() })

/** What a call came to: a response, or an error as data. */
async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return { response: await work() }
  } catch (error) {
    if (!isAllmError(error)) throw error
    return { error: error.toJSON() }
  }
}

const inOneGo = (given: Script) => outcomeOf(() => foldToResponse(given, { requestId: 'r1' }))

describe('for every legal script', () => {
  test('generate gives what the fold gives, failures and their partial results included', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (given) => {
        const generated = await outcomeOf(() =>
          fake({ script: given }).generate(request, options()),
        )
        expect(generated).toEqual(await inOneGo(given))
      }),
    )
  })

  test('message_started comes first, message_completed or error last, and each of them once', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (given) => {
        const stream = fake({ script: given }).stream(request, options())
        const outcome = await outcomeOf(() => collectEvents(stream))
        if (!isEvents(outcome)) return
        const types = outcome.response.map(({ type }) => type)
        const ends = types.filter((type) => type === 'message_completed' || type === 'error')
        expect(types[0]).toBe('message_started')
        expect(types.filter((type) => type === 'message_started')).toHaveLength(1)
        expect(ends).toEqual([types.at(-1)])
      }),
    )
  })

  test('the same script gives the same events again, and they are plain data', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (given) => {
        const once = () =>
          outcomeOf(() => collectEvents(fake({ script: given }).stream(request, options())))
        const first = await once()
        expect(await once()).toEqual(first)
        expect(JSON.parse(JSON.stringify(first))).toEqual(first)
      }),
    )
  })

  test('it survives JSON, passes validation and has a shape', () => {
    fc.assert(
      fc.property(script, (given) => {
        const copy: Script = JSON.parse(JSON.stringify(given))
        expect(() => validateScript({ script: copy })).not.toThrow()
        expect(detectShape(copy)[1]).toEqual(given)
      }),
    )
  })

  test('delays and raw chunks change nothing in the response', async () => {
    await fc.assert(
      fc.asyncProperty(endingScript, async (given) => {
        const quiet = given.filter(([tag]) => tag !== 'delay' && tag !== 'raw_chunk')
        const loud = { ...options(), includeRawChunks: true }
        expect(await fake({ script: given }).generate(request, loud)).toEqual(
          foldToResponse(quiet, { requestId: 'r1' }),
        )
      }),
    )
  })

  test('no batch is empty and every stream is closed', async () => {
    await fc.assert(
      fc.asyncProperty(script, fc.boolean(), async (given, includeRawChunks) => {
        const adapter = fake({ script: given })
        try {
          for await (const batch of adapter.stream(request, { ...options(), includeRawChunks })) {
            expect(batch.length).toBeGreaterThan(0)
          }
        } catch (error) {
          expect(isAllmError(error)).toBe(true)
        }
        expect(adapter.openStreams).toBe(0)
      }),
    )
  })
})

function isEvents(
  outcome: unknown,
): outcome is { readonly response: readonly { readonly type: string }[] } {
  return typeof outcome === 'object' && outcome !== null && 'response' in outcome
}
