import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../../src/index.ts'
import { createScriptCursor, fake, validateScript, type FakeOptions } from '../../../src/testing.ts'

/** Options as JavaScript may bring them: the types would refuse most of these. */
const untyped = (options: unknown): FakeOptions => options as FakeOptions

function problemsOf(options: unknown): readonly string[] {
  try {
    validateScript(untyped(options))
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    expect(error.reason).toBe('invalid_script')
    return error.issues.map(({ path, problem }) => `${path}: ${problem}`)
  }
  return []
}

const entry = (value: unknown): readonly string[] => problemsOf({ script: [value] })

describe('validateScript checks the options in order', () => {
  test('script and scripts together are refused before anything else', () => {
    expect(problemsOf({ script: 1, scripts: 2 })).toEqual([
      ': script and scripts are both given; use script for one call, or scripts for one list per call',
    ])
  })

  test.each([
    ['script', { script: 'text', scripts: undefined }, /^script: must be a list/],
    ['scripts', { scripts: 'text' }, /^scripts: must be a list of lists/],
    ['an item of scripts', { scripts: [[], 'text'] }, /^scripts\[1\]: must be a list/],
    ['streamScript', { streamScript: 7 }, /^streamScript: must be a list of lists/],
    ['an item of streamScript', { streamScript: [[], 7] }, /^streamScript\[1\]: must be a list/],
    ['scriptCursor', { scriptCursor: { index: 0 } }, /^scriptCursor: .*createScriptCursor\(\)/],
  ])('%s of the wrong kind is refused by name', (_what, options, problem) => {
    expect(problemsOf(options)).toEqual([expect.stringMatching(problem)])
  })

  test('the first check that fails is reported: script before streamScript, streamScript before the cursor', () => {
    expect(problemsOf({ script: 1, streamScript: 2, scriptCursor: 3 })[0]).toMatch(/^script:/)
    expect(problemsOf({ streamScript: 2, scriptCursor: 3 })[0]).toMatch(/^streamScript:/)
    expect(problemsOf({ scriptCursor: 3, script: [['nope']] })[0]).toMatch(/^scriptCursor:/)
  })

  test('legal options pass, and a user may check them before making a fake', () => {
    expect(validateScript({})).toBeUndefined()
    expect(validateScript({ script: [] })).toBeUndefined()
    expect(validateScript({ scripts: [[['text', 'a']], []] })).toBeUndefined()
    expect(validateScript({ streamScript: [['text', 'a']] })).toBeUndefined()
    expect(validateScript({ streamScript: [[['text', 'a']], []] })).toBeUndefined()
    expect(validateScript({ script: [], scriptCursor: createScriptCursor() })).toBeUndefined()
  })

  test('one list per call given as script, and one call given as scripts, are distinguished', () => {
    expect(problemsOf({ script: [[['text', 'a']]] })[0]).toMatch(
      /use scripts for one list per call/,
    )
    expect(problemsOf({ scripts: [['text', 'a']] })[0]).toMatch(/use script for a single call$/)
  })
})

describe('validateScript checks every entry', () => {
  test('all problems are reported at once, each with its path', () => {
    const options = {
      scripts: [
        [['text', 1]],
        [
          ['text', 'a'],
          ['finish', 'done'],
        ],
      ],
    }
    expect(problemsOf(options)).toEqual([
      'scripts[0][0][1]: must be a string, not 1',
      expect.stringMatching(/^scripts\[1\]\[1\]\[1\]: must be one of stop, length/),
    ])
  })

  test('an unknown tag names both vocabularies', () => {
    expect(entry(['txt', 'a'])).toEqual([
      expect.stringMatching(/"txt".*scripts have text, .*harness scripts have ok, /),
    ])
  })

  test.each([
    ['what is not an entry', 7, /must be an entry/],
    ['an empty entry', [], /must be an entry/],
    ['a text without its text', ['text'], /must have 2 or 3 elements, not 1/],
    ['a text with too much', ['text', 'a', {}, 'b'], /must have 2 or 3 elements, not 4/],
    ['a text with two texts', ['text', 'a', 'b'], /\[2\]: must be an object, not "b"/],
    ['a text with an unknown detail', ['text', 'a', { mor: true }], /did you mean more/],
    ['the end of a text with an unknown detail', ['text_end', { txt: 'a' }], /did you mean text/],
    ['an image without bytes', ['image', { type: 'base64', base64: '' }], /base64.* is empty/],
    ['a start with an unknown fact', ['start', { modle: 'm' }], /did you mean model/],
    [
      'a failure of an unknown kind',
      ['failure', 'timeout', { kind: 'http' }],
      /kind: must be one of/,
    ],
    [
      'a failure with a reason of another kind',
      ['failure', 'rate_limited', { kind: 'stream' }],
      /\[1\]: must be one of cancelled/,
    ],
    ['a reasoning with an unknown detail', ['reasoning', 'a', { opaqe: 1 }], /did you mean opaque/],
    ['a tool call without a name', ['tool_call', { id: 'c1' }], /\[1\]\.name: is missing/],
    [
      'arguments that are no object',
      ['tool_call', { id: 'c', name: 'n', arguments: [] }],
      /object/,
    ],
    [
      'arguments that JSON cannot hold',
      ['tool_call', { id: 'c', name: 'n', arguments: { f() {} } }],
      /JSON/,
    ],
    [
      'a call with an unknown field',
      ['tool_call', { id: 'c', name: 'n', args: {} }],
      /unknown key args/,
    ],
    [
      'a delta in other words',
      ['tool_call_delta', { id: 'c', arguments_delta: '' }],
      /did you mean argumentsDelta/,
    ],
    [
      'a finish reason that is none',
      ['finish', 'ended'],
      /must be one of stop, length, tool_calls/,
    ],
    ['a negative delay', ['delay', -1], /milliseconds, 0 or more/],
    ['an endless delay', ['delay', Infinity], /milliseconds, 0 or more/],
    ['a delay in words', ['sleep', '1s'], /milliseconds, 0 or more/],
    ['an error without a term', ['error'], /must have 2 elements/],
    ['a failure without details', ['preflight_error', 'timeout'], /must have 3 elements/],
    [
      'a failure of no known reason',
      ['error_event', 'rate_limit', {}],
      /did you mean rate_limited/,
    ],
    [
      'a transport failure with a provider reason',
      ['stream_error', 'rate_limited', {}],
      /must be one of cancelled/,
    ],
    [
      'a detail of the wrong type',
      ['error', 'timeout', { status: '429' }],
      /status: must be a positive integer/,
    ],
    [
      'a detail in another spelling',
      ['error', 'timeout', { retry_after_ms: 1 }],
      /did you mean retryAfterMs/,
    ],
    ['a response with an unknown field', ['ok', { output_text: 'a' }], /did you mean outputText/],
    [
      'a response with an illegal message',
      ['ok', { message: { role: 'bot', content: '' } }],
      /message\.role/,
    ],
  ])('%s is refused', (_what, value, problem) => {
    expect(entry(value)[0]).toMatch(problem)
  })

  test('an unknown usage field is refused by name, with the one that was meant', () => {
    expect(entry(['usage', { prompt_tokens: 3 }])).toEqual([
      expect.stringMatching(/has no field prompt_tokens; did you mean inputTokens\?/),
    ])
    expect(entry(['usage', { ouputTokens: 3 }])[0]).toMatch(/did you mean outputTokens\?/)
    expect(entry(['usage', { cost: 3 }])[0]).toMatch(/has no field cost; legal are inputTokens/)
    expect(entry(['usage', { inputTokens: -1 }])[0]).toMatch(/a number of tokens/)
  })

  test('further facts of a failure are legal and become its metadata', () => {
    expect(entry(['error_event', 'unknown', { type: 'overloaded_error' }])).toEqual([])
  })
})

describe('validateScript checks the entries together', () => {
  const script = (...entries: readonly unknown[]): readonly string[] =>
    problemsOf({ script: entries })

  test('start comes first, and failure last', () => {
    expect(script(['text', 'a'], ['start', {}])).toEqual([
      'script[1]: says what the answer begins with, so it must come first',
    ])
    expect(script(['headers'], ['start', {}], ['text', 'a'])).toEqual([])
    expect(script(['failure', 'timeout', {}], ['text', 'a'])).toEqual([
      'script[1]: comes after failure, which ends the call',
    ])
  })

  test('a script that mixes the vocabularies is refused', () => {
    expect(script(['text', 'a'], ['error_event', 'timeout', {}])).toEqual([
      'script[1]: mixes two vocabularies: error_event (of harness scripts) cannot be in the same script as text (of scripts)',
    ])
    expect(script(['text_delta', 'a'], ['delay', 1])[0]).toMatch(/mixes two vocabularies/)
  })

  test('shared tags go with both', () => {
    expect(script(['tool_call', { id: 'c', name: 'n' }], ['error_event', 'timeout', {}])).toEqual(
      [],
    )
    expect(script(['text_delta', 'a'], ['finish', 'stop'])).toEqual([])
  })

  test('nothing may come after finish', () => {
    expect(script(['finish', 'stop'], ['text', 'a'])[0]).toMatch(/script\[1\]: comes after finish/)
  })

  test('ok is a whole call, so it is the only entry', () => {
    expect(script(['ok', {}], ['ok', {}])[0]).toMatch(/must be the only entry; use scripts/)
  })

  test('preflight_error comes before the first event or not at all', () => {
    expect(script(['text_delta', 'a'], ['preflight_error', 'timeout', {}])[0]).toMatch(
      /must come first/,
    )
  })

  test('a call is completed once', () => {
    const call = ['tool_call', { id: 'c', name: 'n' }]
    expect(script(call, call)[0]).toMatch(/completed; use another id/)
    expect(script(call, ['tool_call_delta', { id: 'c', argumentsDelta: '' }])[0]).toMatch(
      /completed/,
    )
  })
})

describe('a fake is checked where it is made', () => {
  test('a bad script throws at once', () => {
    expect(() => fake(untyped({ script: [['txt', 'a']] }))).toThrow(ValidationError)
    expect(() => fake({ script: [], scripts: [] })).toThrow(/both given/)
  })

  test.each([
    [{ skript: [] }, /unknown key skript; did you mean script\?/],
    [{ usage: { prompt_tokens: 1 } }, /did you mean inputTokens/],
    [{ retryUntilCall: 0 }, /retryUntilCall must be a positive integer/],
    [{ record: true }, /record must be a function/],
    [{ cleanupObserver: {} }, /cleanupObserver must be a function/],
  ])('the options %j are refused', (options, problem) => {
    expect(() => fake(untyped(options))).toThrow(problem)
  })
})

test('details of a failure may have keys that every object inherits', () => {
  const details = { constructor: 1, toString: 2 }
  expect(() => validateScript({ script: [['error', 'timeout', details]] as never })).not.toThrow()
})
