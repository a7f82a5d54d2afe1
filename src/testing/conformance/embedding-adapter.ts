import type { EmbeddingAdapter } from '../../core/contracts/adapter.ts'
import type { Embedding, EmbeddingRequest, EmbeddingResponse } from '../../core/types/models.ts'
import type { EmbeddingScriptEntry } from '../fakes/fake-embeddings.ts'
import type { ConformanceCase, EmbeddingCapability } from './cases.ts'
import { demand } from './demands.ts'
import {
  errorOf,
  playModel,
  sharedModelCases,
  type ModelCaseScript,
  type ModelFixture,
  type ModelHarness,
  type ModelPlay,
} from './model-adapter.ts'

/** Starts an embedding adapter whose calls are answered by a script. */
export interface EmbeddingHarness extends ModelHarness<
  EmbeddingAdapter,
  EmbeddingScriptEntry,
  EmbeddingCapability
> {}

/** A case for embedding adapters. */
export type EmbeddingCase = ConformanceCase<EmbeddingHarness, EmbeddingCapability>

const embeddingPlay: ModelPlay<EmbeddingAdapter, EmbeddingRequest, EmbeddingResponse> = {
  call: 'an embedding call',
  contract: 'embeddingResponse',
  request: requestOf,
  send: (adapter, request, options) => adapter.embed(request, options),
}

type Fixture = ModelFixture<EmbeddingAdapter, EmbeddingRequest, EmbeddingResponse>

/** Vectors that 32-bit floats hold exactly, and that have the length 1. */
const vectors: readonly Embedding[] = [
  [1, 0, 0, 0],
  [0.5, -0.5, 0.5, -0.5],
  [0, 0, -1, 0],
]

const three = ['a kestrel', 'a heron', 'a wren']

/** Runs a case on an adapter whose provider answers with these vectors, one by default. */
function answering(
  act: (fixture: Fixture) => Promise<void>,
  answer: readonly Embedding[] = vectors.slice(0, 1),
): EmbeddingCase['run'] {
  return (harness) => playModel(harness, embeddingPlay, [['ok', answer]], act)
}

/** What only embeddings have. */
const ownCases: readonly EmbeddingCase[] = [
  {
    name: 'a response has a vector for each text, in their order',
    run: answering(async (fixture) => {
      const { embeddings } = await fixture.succeed({ texts: three })
      demand(JSON.stringify(embeddings) === JSON.stringify(vectors), {
        expected: `the vectors ${JSON.stringify(vectors)}`,
        received: embeddings,
        contract: 'embeddingResponse',
      })
    }, vectors),
  },
  {
    name: 'a response has usage and warnings, and a count that was not reported is absent',
    run: (harness) => {
      const script: readonly EmbeddingScriptEntry[] = [['ok', vectors.slice(0, 1), { usage: {} }]]
      return playModel(harness, embeddingPlay, script, async (fixture) => {
        const { usage, warnings } = await fixture.succeed()
        const isPlain = Array.isArray(warnings) && typeof usage === 'object'
        demand(isPlain && usage.inputTokens === undefined && usage.totalTokens === undefined, {
          expected: 'usage {} and warnings []',
          received: { usage, warnings },
          contract: 'usage',
        })
      })
    },
  },
  {
    name: 'the tokens of the texts are counted',
    capability: 'usage',
    run: (harness) => {
      const usage = { inputTokens: 7, totalTokens: 7 }
      const script: readonly EmbeddingScriptEntry[] = [['ok', vectors.slice(0, 1), { usage }]]
      return playModel(harness, embeddingPlay, script, async (fixture) => {
        const { usage: counted } = await fixture.succeed()
        demand(counted.inputTokens === 7 && counted.totalTokens === 7, {
          expected: 'inputTokens 7 and totalTokens 7',
          received: counted,
          contract: 'usage',
        })
      })
    },
  },
  ...(
    [
      ['too few vectors', vectors.slice(0, 2)],
      ['too many vectors', [...vectors, [1, 0, 0, 0]]],
      [
        'vectors of different lengths',
        [
          [1, 0, 0, 0],
          [1, 0],
          [1, 0, 0, 0],
        ],
      ],
      ['empty vectors', [[], [], []]],
      [
        'numbers that are not finite',
        [
          [1, 0, 0, 0],
          [0, NaN, 0, 0],
          [0, 0, -1, 0],
        ],
      ],
    ] as const
  ).map(([what, answer]): EmbeddingCase => ({
    name: `${what} are malformed_response`,
    run: answering(async (fixture) => {
      const outcome = await fixture.call(fixture.request({ texts: three }))
      demand(errorOf(outcome)?.reason === 'malformed_response', {
        expected: 'a rejection with AdapterError malformed_response',
        received: outcome.failure?.thrown ?? outcome.response?.embeddings,
        contract: 'embeddingResponse',
      })
    }, answer),
  })),
  {
    name: 'the limits are positive integers',
    run: answering(async ({ adapter }) => {
      const { maxTexts, maxTokens = 1 } = adapter.limits
      const legal = [maxTexts, maxTokens].every((limit) => Number.isInteger(limit) && limit > 0)
      demand(legal, {
        expected: 'limits.maxTexts, and maxTokens if there is one, as integers of at least 1',
        received: adapter.limits,
        contract: 'embeddingLimits',
      })
    }),
  },
  ...(
    [
      ['no text', () => 0],
      ['more texts than maxTexts', (most: number) => most + 1],
    ] as const
  ).map(([what, count]): EmbeddingCase => ({
    name: `a request with ${what} is refused with invalid_request`,
    run: answering(async (fixture) => {
      const length = count(fixture.adapter.limits.maxTexts)
      const texts = Array.from({ length }, (_, at) => `text ${at}`)
      const outcome = await fixture.call(fixture.request({ texts }))
      demand(errorOf(outcome)?.reason === 'invalid_request', {
        expected: 'a rejection with AdapterError invalid_request',
        received: outcome.failure?.thrown ?? `${outcome.response?.embeddings.length} vectors`,
        contract: 'embeddingLimits',
      })
    }),
  })),
  {
    name: 'a request that is refused is not sent',
    capability: 'requests',
    run: answering(async (fixture) => {
      const length = fixture.adapter.limits.maxTexts + 1
      const before = fixture.requests().length
      await fixture.call(fixture.request({ texts: Array.from({ length }, () => 'a text') }))
      demand(fixture.requests().length === before, {
        expected: 'no request',
        received: `${fixture.requests().length} requests`,
        contract: 'embeddingLimits',
      })
    }),
  },
  {
    name: 'the texts are sent, and the metadata is not',
    capability: 'requests',
    run: answering(async (fixture) => {
      await fixture.succeed({ texts: three, metadata: { secret: 'of the caller' } })
      const sent = JSON.stringify(fixture.requests())
      const isSent = three.every((text) => sent.includes(text))
      demand(isSent && !sent.includes('of the caller'), {
        expected: `${three.join(', ')} in the request, and no metadata`,
        received: sent,
        contract: 'conversation',
      })
    }, vectors),
  },
  {
    name: 'dimensions and task are sent or named in warnings',
    capability: 'requests',
    run: answering(async (fixture) => {
      const asked = { dimensions: 4, task: 'search_query' } as const
      const before = JSON.stringify(fixture.requests())
      const { warnings } = await fixture.succeed(asked)
      const sent = JSON.stringify(fixture.requests()).slice(before.length - 1)
      const isTold = (setting: string): boolean => warnings.some((one) => one.setting === setting)
      const dimensions = /"[a-z_]*dimension[a-z]*":\s*4\b/i.test(sent) || isTold('dimensions')
      const task = /query/i.test(sent) || isTold('task')
      demand(dimensions && task, {
        expected: 'dimensions 4 and a task for queries in the request, or in warnings',
        received: { sent, warnings },
        contract: 'settings',
      })
    }),
  },
]

const script: ModelCaseScript<EmbeddingScriptEntry> = {
  ok: ['ok', vectors.slice(0, 1)],
  error: (data) => ['error', data],
}

const shared = sharedModelCases(embeddingPlay, script)

/** The cases for every embedding adapter. */
export const embeddingAdapterCases: readonly EmbeddingCase[] = [
  ...shared.responses,
  ...ownCases,
  ...shared.failures,
  ...shared.conduct,
]

function requestOf(model: string, fields: Partial<EmbeddingRequest> = {}): EmbeddingRequest {
  return { model, texts: ['a green parrot'], providerOptions: {}, metadata: {}, ...fields }
}
