import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../../src/core/base/clock.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { CallOptions } from '../../../src/core/contracts/options.ts'
import { validateCallOptions, validateEngineOptions } from '../../../src/core/schema/options.ts'
import { tool } from '../../../src/engine/tools/tool.ts'

const look = tool({ name: 'look', description: 'd', schema: {}, handler: () => 1 })

const legal = {
  model: 'm',
  tools: [look],
  toolChoice: 'look',
  temperature: 0,
  maxTokens: 1,
  responseFormat: z.object({}),
  repair: 1,
  instructions: 'Be brief.',
  prepareStep: () => undefined,
  onStep: () => undefined,
  structuredFinalize: true,
  reasoning: { effort: 'low' },
  promptCache: true,
  mode: 'manual',
  approve: () => 'run',
  approvals: { c1: true, c2: { deny: 'no' }, c3: { arguments: {} } },
  maxTurns: 3,
  haltWhen: () => false,
  onToolError: 'halt',
  toolTimeoutMs: 10,
  maxConcurrency: 2,
  requestTimeoutMs: 10,
  maxResponseBytes: 1_000_000,
  streamTimeoutMs: 10,
  signal: new AbortController().signal,
  retry: { maxAttempts: 5, retryOn: ['timeout'] },
  context: { user: 'u' },
  emitTextDeltas: false,
  emitToolDeltas: false,
  includeRawChunks: true,
  onEvent: () => undefined,
  requestId: 'r',
  apiKey: 'k',
  headers: { 'x-trace': 'a' },
  topP: 0.5,
  topK: 5,
  stopSequences: ['END'],
  seed: 7,
  presencePenalty: 1,
  frequencyPenalty: -1,
  parallelToolCalls: false,
  providerOptions: { openai: { seed: 1 } },
  metadata: { a: 1 },
} satisfies Record<keyof CallOptions, unknown>

describe('the options of a call', () => {
  test('may be absent, empty, undefined one by one, or all there', () => {
    const absent = Object.fromEntries(Object.keys(legal).map((key) => [key, undefined]))
    for (const options of [undefined, {}, absent, legal, { retry: 'default' }, { retry: false }]) {
      expect(validateCallOptions(options)).toEqual([])
    }
  })

  test.each(Object.keys(legal))('%s takes no symbol', (key) => {
    const paths = validateCallOptions({ ...legal, [key]: Symbol('s') }).map(({ path }) => path)
    expect(paths).toEqual([key])
  })

  test.each<[string, object, string, string]>([
    ['a misspelt key', { maxTurn: 3 }, '', 'unknown key maxTurn; did you mean maxTurns?'],
    [
      'a key in snake case',
      { max_tokens: 3 },
      '',
      'unknown key max_tokens; did you mean maxTokens?',
    ],
    ['no turns', { maxTurns: 0 }, 'maxTurns', 'must be a positive integer, not 0'],
    [
      'a policy of three arguments',
      { onToolError: (_a: 1, _b: 2, _c: 3) => 'halt' },
      'onToolError',
      'must be a function of the call and the error: this one has 3 parameters, and is given 2',
    ],
    [
      'a policy in a wrong word',
      { onToolError: 'stop' },
      'onToolError',
      'must be "continue", "halt" or a function of the call and the error, not "stop"',
    ],
    [
      'a controller for a signal',
      { signal: new AbortController() },
      'signal',
      'must be an AbortSignal, not an AbortController',
    ],
    [
      'retry that is true',
      { retry: true },
      'retry',
      'must be "default", false or a policy, not true',
    ],
    [
      'a policy without attempts',
      { retry: { maxAttempts: 0 } },
      'retry.maxAttempts',
      'must be a positive integer, not 0',
    ],
    [
      'a misspelt policy',
      { retry: { maxRetries: 2 } },
      'retry',
      'unknown key maxRetries; known keys are maxAttempts, baseDelayMs, maxDelayMs, jitterMs, retryOn, respectRetryAfter, maxRetryAfterMs, longestWaitMs',
    ],
    [
      'a tool twice',
      { tools: [look, look] },
      'tools[1].name',
      'is used twice among the tools: look',
    ],
    [
      'a context that is a Map',
      { context: new Map() },
      'context',
      'must be a plain object, whose members may be anything, not a Map',
    ],
  ])('%s is refused', (_name, options, path, problem) => {
    expect(validateCallOptions(options)).toEqual([{ path, problem }])
  })

  test('a key of the wrong kind is not shown', () => {
    const issues = validateCallOptions({ apiKey: ['sk-not-to-be-seen'] })
    expect(issues).toEqual([{ path: 'apiKey', problem: 'must be a string' }])
  })

  test.each([null, 5, 'text', []])('%j is not an object of options', (value) => {
    expect(validateCallOptions(value)).toMatchObject([{ path: '' }])
    expect(validateEngineOptions(value)).toMatchObject([{ path: '' }])
  })
})

describe('the options of an engine', () => {
  class Adapter implements ChatAdapter {
    readonly provider = 'mine'
    async *stream(): AsyncIterable<never> {}
  }
  const {
    apiKey: _key,
    signal: _signal,
    requestId: _id,
    approvals: _approvals,
    ...defaults
  } = legal
  const engine = {
    ...defaults,
    adapter: new Adapter(),
    imageAdapter: { provider: 'p', generate: () => 1, supportedOperations: () => [] },
    imageModel: 'm',
    keys: { openai: 'k' },
    clock: systemClock,
    newId: () => 'id',
    toolExecutor: () => 1,
    toolResultEncoder: String,
  }

  test('may be absent, empty, or all there; an adapter may be of a class', () => {
    for (const options of [undefined, {}, engine, { keys: () => undefined }]) {
      expect(validateEngineOptions(options)).toEqual([])
    }
  })

  test.each(Object.keys(engine))('%s takes no symbol', (key) => {
    const paths = validateEngineOptions({ ...engine, [key]: Symbol('s') }).map(({ path }) => path)
    expect(paths).toEqual([key])
  })

  test('a key is refused with the way to give it, and not shown', () => {
    expect(validateEngineOptions({ apiKey: 'sk-not-to-be-seen' })).toEqual([
      {
        path: 'apiKey',
        problem: 'is not an option of an engine; use keys: { provider: key }',
      },
    ])
    expect(JSON.stringify(validateEngineOptions({ keys: ['sk-a', 5] }))).not.toContain('sk-a')
  })

  test.each(['signal', 'requestId'])('%s belongs to a call', (key) => {
    expect(validateEngineOptions({ [key]: 'x' })).toMatchObject([
      { problem: expect.stringContaining(`unknown key ${key}`) },
    ])
  })

  test('an adapter without stream is refused', () => {
    expect(validateEngineOptions({ adapter: { provider: 'x' } })).toEqual([
      { path: 'adapter', problem: 'must be a chat adapter, with stream, not an object' },
    ])
  })
})
