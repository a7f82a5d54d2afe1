import type { ModerationHarness } from '../../../../src/conformance.ts'
import type { ModerationAdapter } from '../../../../src/core/contracts/adapter.ts'
import type { ModerationRequest, ModerationResponse } from '../../../../src/index.ts'
import { moderationResult } from '../../../../src/testing.ts'
import { fakeModerationHarness, httpModerationHarness } from '../harnesses.ts'
import { conductDefects, impatient, sending, sharedDefects } from './model-mutants.ts'
import type { Mutant } from './mutant.ts'

type Judge = ModerationAdapter['moderate']
type Change = (adapter: ModerationAdapter) => ModerationAdapter

/** Moderation adapters with one defect each. */
export const moderationMutants = [
  ...conductDefects('a moderation call').map((one) =>
    impatient(
      onTheWire(
        one.defect,
        one.caught,
        calling((judge) => sending(one, judge)),
      ),
    ),
  ),
  judged(
    'a category is made up',
    'a clean text is not flagged',
    giving((response) => ({ ...response, results: [moderationResult('hate')] })),
  ),
  judged(
    'scores are rounded',
    'a flagged text has its categories and their scores',
    giving((response) => ({
      ...response,
      results: response.results.map(({ scores, ...result }) => ({
        ...result,
        scores: Object.fromEntries(
          Object.entries(scores).map(([name, score]) => [name, Math.round(score)]),
        ),
      })),
    })),
  ),
  judged(
    'results come in another order',
    'several texts have a result each, in their order',
    giving((response) => ({
      ...response,
      results: response.results.toSorted((a, b) => Number(b.flagged) - Number(a.flagged)),
    })),
  ),
  judged(
    'parts are judged one by one',
    'the parts of a message have one result',
    calling((judge) => async (request, options) => {
      const response = await judge(request, options)
      const [first = moderationResult()] = response.results
      return { ...response, results: request.input.map(() => first) }
    }),
  ),
  ...[
    '1 results for two texts are no verdict',
    '3 results for two texts are no verdict',
    '0 results for two texts are no verdict',
  ].map((caught) =>
    judged(
      'what is missing is clean',
      caught,
      calling((judge) => async (request, options) => {
        const [first = moderationResult()] = await judge(request, options).then(
          ({ results }) => results,
          () => [],
        )
        const { metadata } = request
        const results = request.input.map(() => first)
        const facts = { requestId: 'r', provider: 'fake', usage: {}, warnings: [], metadata }
        return { ...facts, flagged: false, results }
      }),
    ),
  ),
  onTheWire(
    'only the first text is sent',
    'every text is sent',
    calling((judge) => async (request, options) => {
      const response = await judge({ ...request, input: ['something', 'else'] }, options)
      return response
    }),
  ),
  onTheWire(
    'images are left out',
    'an image is sent with its text',
    calling(
      (judge) => (request, options) =>
        judge({ ...request, input: [{ type: 'text', text: 'an owl on a bicycle' }] }, options),
    ),
  ),
  judged(
    'a longer list is cut',
    'more texts than maxTexts are refused before anything is sent',
    calling((judge) => (request, options) => judge({ ...request, input: ['a'] }, options)),
  ),
  judged(
    'the other images are left out',
    'more images than maxImages are refused before anything is sent',
    calling(
      (judge) => (request, options) =>
        judge({ ...request, input: [{ type: 'text', text: 'a' }] }, options),
    ),
  ),
  ...sharedDefects<ModerationRequest, ModerationResponse>('a moderation call').map(
    ([defect, caught, change, isOnTheWire]) =>
      (isOnTheWire === true ? onTheWire : judged)(defect, caught, calling(change)),
  ),
]

function judged(defect: string, caught: string, change: Change): Mutant<ModerationHarness> {
  return changed(defect, caught, fakeModerationHarness, change)
}

/** A defect of an adapter that sends something. */
function onTheWire(defect: string, caught: string, change: Change): Mutant<ModerationHarness> {
  return changed(defect, caught, httpModerationHarness, change)
}

function changed(
  defect: string,
  caught: string,
  right: ModerationHarness,
  change: Change,
): Mutant<ModerationHarness> {
  const harness: ModerationHarness = {
    ...right,
    patienceMs: 5000,
    async start(script, options) {
      const started = await right.start(script, options)
      return { ...started, adapter: change(started.adapter) }
    },
  }
  return { defect, caught, harness }
}

function calling(change: (judge: Judge) => Judge): Change {
  return (adapter) => ({
    provider: adapter.provider,
    maxTexts: adapter.maxTexts,
    maxImages: adapter.maxImages,
    moderate: change((...call) => adapter.moderate(...call)),
  })
}

function giving(change: (response: ModerationResponse) => ModerationResponse): Change {
  return calling(
    (judge) =>
      async (...call) =>
        change(await judge(...call)),
  )
}
