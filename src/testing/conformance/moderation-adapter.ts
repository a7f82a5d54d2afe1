import type { ModerationAdapter } from '../../core/contracts/adapter.ts'
import type { InlineImage } from '../../core/types/media.ts'
import type {
  ModerationRequest,
  ModerationResponse,
  ModerationResult,
} from '../../core/types/models.ts'
import { moderationResult, type ModerationScriptEntry } from '../fakes/fake-moderation.ts'
import type { ConformanceCase, ModerationCapability } from './cases.ts'
import { demand } from './demands.ts'
import {
  errorOf,
  playModel,
  sharedModelCases,
  type ModelCaseScript,
  type ModelFixture,
  type ModelHarness,
  type ModelPlay,
  type StartedModelAdapter,
} from './model-adapter.ts'

/** Starts a moderation adapter whose calls are answered by a script. */
export interface ModerationHarness extends ModelHarness<
  ModerationAdapter,
  ModerationScriptEntry,
  ModerationCapability
> {}

/** A moderation adapter, and a view of its requests. */
export type StartedModerationAdapter = StartedModelAdapter<ModerationAdapter>

/** A case for moderation adapters. */
export type ModerationCase = ConformanceCase<ModerationHarness, ModerationCapability>

/** One pixel. */
const pixel: InlineImage = {
  type: 'base64',
  mimeType: 'image/png',
  base64:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}

const moderationPlay: ModelPlay<ModerationAdapter, ModerationRequest, ModerationResponse> = {
  call: 'a moderation call',
  contract: 'moderationResponse',
  request: (model, fields = {}) => ({
    model,
    input: ['a green parrot'],
    providerOptions: {},
    metadata: {},
    ...fields,
  }),
  send: (adapter, request, options) => adapter.moderate(request, options),
}

type Fixture = ModelFixture<ModerationAdapter, ModerationRequest, ModerationResponse>

const clean = moderationResult()

/** Runs a case on an adapter whose provider gives these results. */
function judging(
  results: readonly ModerationResult[],
  act: (fixture: Fixture) => Promise<void>,
): ModerationCase['run'] {
  return (harness) => playModel(harness, moderationPlay, [['ok', results]], act)
}

/** A result with a score that is neither 0 nor 1. */
const violent: ModerationResult = {
  ...moderationResult('violence'),
  scores: { ...moderationResult('violence').scores, violence: 0.75 },
}

const verdictCases: readonly ModerationCase[] = [
  {
    name: 'a clean text is not flagged',
    run: judging([clean], async (fixture) => {
      const { flagged, results } = await fixture.succeed()
      const [result] = results
      const none = result !== undefined && !Object.values(result.categories).includes(true)
      demand(!flagged && results.length === 1 && result?.flagged === false && none, {
        expected: 'flagged false, and one result without a category',
        received: { flagged, results },
        contract: 'moderationResponse',
      })
    }),
  },
  {
    name: 'a flagged text has its categories and their scores',
    run: judging([violent], async (fixture) => {
      const { flagged, results } = await fixture.succeed()
      const [result] = results
      const { categories = {}, scores = {} } = result ?? {}
      const told = categories['violence'] === true && scores['violence'] === 0.75
      demand(flagged && results.length === 1 && result?.flagged === true && told, {
        expected: 'flagged true, and one result with violence at 0.75',
        received: { flagged, results },
        contract: 'moderationResponse',
      })
    }),
  },
  {
    name: 'several texts have a result each, in their order',
    run: judging([clean, violent, clean], async (fixture) => {
      const { flagged, results } = await fixture.succeed({ input: ['one', 'two', 'three'] })
      const seen = results.map((result) => result.flagged)
      demand(flagged && JSON.stringify(seen) === '[false,true,false]', {
        expected: 'flagged true, and results that are flagged false, true, false',
        received: { flagged, results: seen },
        contract: 'moderationResponse',
      })
    }),
  },
  {
    name: 'the parts of a message have one result',
    run: judging([violent], async (fixture) => {
      const { flagged, results } = await fixture.succeed({
        input: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      })
      demand(flagged && results.length === 1, {
        expected: 'one result for all parts',
        received: { flagged, results: results.length },
        contract: 'moderationResponse',
      })
    }),
  },
  ...([[[clean]], [[clean, clean, clean]], [[]]] as const).map(([given]): ModerationCase => ({
    name: `${given.length} results for two texts are no verdict`,
    run: judging(given, async (fixture) => {
      const outcome = await fixture.call(fixture.request({ input: ['one', 'two'] }))
      const error = errorOf(outcome)
      demand(error?.reason === 'malformed_response', {
        expected: 'a rejection with malformed_response',
        received: error ?? outcome.failure?.thrown ?? outcome.response,
        contract: 'moderationVerdict',
      })
    }),
  })),
]

const inputCases: readonly ModerationCase[] = [
  {
    name: 'every text is sent',
    capability: 'requests',
    run: judging([clean, clean], async (fixture) => {
      const input = ['an owl on a bicycle', 'a "quoted" word']
      await fixture.succeed({ input })
      const sent = JSON.stringify(fixture.requests())
      demand(
        input.every((one) => sent.includes(JSON.stringify(one))),
        {
          expected: `the texts ${JSON.stringify(input)} in the request`,
          received: sent,
          contract: 'conversation',
        },
      )
    }),
  },
  {
    name: 'an image is sent with its text',
    capability: 'image_parts',
    run: judging([violent], async (fixture) => {
      const { flagged, results } = await fixture.succeed({
        input: [
          { type: 'text', text: 'an owl on a bicycle' },
          { type: 'image', image: structuredClone(pixel) },
        ],
      })
      const sent = JSON.stringify(fixture.requests())
      const whole = sent.includes('an owl on a bicycle') && sent.includes(pixel.base64)
      demand(flagged && results.length === 1 && whole, {
        expected: 'one result, and a request with the text and the bytes of the image',
        received: { flagged, results: results.length, sent },
        contract: 'mediaSent',
      })
    }),
  },
  {
    name: 'more texts than maxTexts are refused before anything is sent',
    run: judging([clean], async (fixture) => {
      const { maxTexts } = fixture.adapter
      const whole = Number.isInteger(maxTexts) && maxTexts > 0
      demand(whole || maxTexts === Infinity, {
        expected: 'maxTexts to be a positive integer, or Infinity',
        received: maxTexts,
        contract: 'moderationLimit',
      })
      if (!whole) return
      const input = Array.from({ length: maxTexts + 1 }, () => 'a')
      const outcome = await fixture.call(fixture.request({ input }))
      const error = errorOf(outcome)
      demand(error?.reason === 'invalid_request' && error.status === undefined, {
        expected: 'a rejection with invalid_request that has no status',
        received: error ?? outcome.failure?.thrown ?? outcome.response,
        contract: 'moderationLimit',
      })
    }),
  },
  {
    name: 'more images than maxImages are refused before anything is sent',
    capability: 'image_parts',
    run: judging([clean], async (fixture) => {
      const { maxImages = Infinity } = fixture.adapter
      if (maxImages === Infinity) return
      const input = Array.from({ length: maxImages + 1 }, () => ({
        type: 'image' as const,
        image: structuredClone(pixel),
      }))
      const outcome = await fixture.call(fixture.request({ input }))
      const error = errorOf(outcome)
      demand(error?.reason === 'invalid_request' && error.status === undefined, {
        expected: 'a rejection with invalid_request that has no status',
        received: error ?? outcome.failure?.thrown ?? outcome.response,
        contract: 'moderationLimit',
      })
    }),
  },
]

const script: ModelCaseScript<ModerationScriptEntry> = {
  ok: ['ok', [clean]],
  error: (data) => ['error', data],
}

const shared = sharedModelCases(moderationPlay, script)

/** The cases for every moderation adapter. */
export const moderationAdapterCases: readonly ModerationCase[] = [
  ...verdictCases,
  ...inputCases,
  ...shared.responses,
  ...shared.failures,
  ...shared.conduct,
]
