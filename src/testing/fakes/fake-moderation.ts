import { isTexts } from '../../core/answer/moderation.ts'
import type { AdapterOptions, ModerationAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import {
  anyFunction,
  assertValid,
  describe,
  listOf,
  optionsOf,
  positiveInteger,
  refusal,
  shape,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import { moderationResult as resultCheck } from '../../core/schema/validate-moderation.ts'
import type { Image } from '../../core/types/media.ts'
import type {
  ModerationRequest,
  ModerationResponse,
  ModerationResult,
} from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import {
  amount,
  scriptedFields,
  scriptedModel,
  type ModelGrammar,
  type ModelScriptEntry,
  type PlayedAnswer,
  type ScriptedFacts,
  type ScriptedModel,
  type ScriptedModelOptions,
} from './scripted-model.ts'

/**
 * Makes a moderation adapter that answers from a script, or by a function.
 *
 * `flag` judges each text, and the parts of a message together: it returns the categories that apply, and none for what is clean. Without
 * `script` and `flag` everything is clean. A script answers whatever the request is; results that are not as many as the request needs
 * are `malformed_response`, and a call after the last entry fails with `no_scripted_response`.
 */
export function fakeModeration(options: FakeModerationOptions = {}): FakeModeration {
  const { shown, play, limits } = playedModeration(options)
  return Object.assign(shown, {
    ...limits,
    async moderate(request, callOptions = {}) {
      const played = play(request, callOptions)
      const { input } = request
      const wanted = isTexts(input) ? input.length : 1
      const { length } = played.value
      if (length === wanted) return responseOf(request, played)
      const message = `the script has ${length} results for an input that has ${wanted}`
      const facts = { provider: 'fake', requestId: played.requestId }
      throw new AdapterError('malformed_response', message, facts)
    },
  } satisfies Pick<ModerationAdapter, 'maxTexts' | 'maxImages' | 'moderate'>)
}

/** Options of `fakeModeration`. All of them are checked when the fake is made. */
export interface FakeModerationOptions extends ScriptedModelOptions<
  ModerationScriptEntry,
  ModerationRequest
> {
  /** The categories that apply to a text, or to the text and the images of a message; none if it is clean. Not beside `script`. */
  readonly flag?: ((text: string, images: readonly Image[]) => readonly string[]) | undefined
  /** The most texts of one call (1000). */
  readonly maxTexts?: number | undefined
  /** The most images of one call (1). */
  readonly maxImages?: number | undefined
}

/** A moderation adapter that plays a script. It needs no model and no key. */
export interface FakeModeration extends ModerationAdapter, ScriptedModel<ModerationRequest> {
  readonly provider: 'fake'
}

/** The facts of a scripted moderation answer beside its results. */
export interface ScriptedModerationFacts extends ScriptedFacts {
  readonly usage?: Usage
}

/** One entry of a moderation script: the results of one call, or its failure. */
export type ModerationScriptEntry = ModelScriptEntry<
  readonly ModerationResult[],
  ScriptedModerationFacts
>

/**
 * A result for scripts: flagged, with the given categories at a score of 1 and the others of OpenAI at 0; clean without any.
 */
export function moderationResult(...flagged: readonly string[]): ModerationResult {
  const names = [...new Set([...openaiCategories, ...flagged])]
  return {
    flagged: flagged.length > 0,
    categories: Object.fromEntries(names.map((name) => [name, flagged.includes(name)])),
    scores: Object.fromEntries(names.map((name) => [name, flagged.includes(name) ? 1 : 0])),
  }
}

/** The categories of OpenAI, and whether each is also told of images. */
export const categoryTable: Readonly<Record<string, 'text' | 'image'>> = {
  harassment: 'text',
  'harassment/threatening': 'text',
  hate: 'text',
  'hate/threatening': 'text',
  illicit: 'text',
  'illicit/violent': 'text',
  'self-harm': 'image',
  'self-harm/intent': 'image',
  'self-harm/instructions': 'image',
  sexual: 'image',
  'sexual/minors': 'text',
  violence: 'image',
  'violence/graphic': 'image',
}

const openaiCategories: readonly string[] = Object.keys(categoryTable)

/** A fake that answers with as many results as its script has, as a broken provider does. */
export function playedModeration(options: FakeModerationOptions): {
  readonly shown: ScriptedModel<ModerationRequest>
  readonly play: (
    request: ModerationRequest,
    options: AdapterOptions,
  ) => PlayedAnswer<readonly ModerationResult[], ScriptedModerationFacts>
  readonly limits: Pick<ModerationAdapter, 'maxTexts' | 'maxImages'>
} {
  const { flag, maxTexts = 1000, maxImages = 1, ...scripted } = options
  assertValid('invalid_options', ownOptions({ flag, maxTexts, maxImages }))
  if (flag !== undefined && scripted.script !== undefined) {
    throw refusal('invalid_options', 'flag', 'is not for a fake that has a script')
  }
  const limits = { maxTexts, maxImages }
  const own: typeof grammar = {
    ...grammar,
    refuse: (request, requestId) => refuseTooMany(request, limits, requestId),
    unscripted: (request) => [judged(request, flag)],
  }
  return { ...scriptedModel(scripted, own), limits }
}

const ownOptions: Check = optionsOf({
  flag: anyFunction,
  maxTexts: positiveInteger,
  maxImages: positiveInteger,
} satisfies Readonly<
  Record<Exclude<keyof FakeModerationOptions, keyof ScriptedModelOptions<never, never>>, Check>
>)

const grammar: ModelGrammar<
  readonly ModerationResult[],
  ScriptedModerationFacts,
  ModerationRequest
> = {
  value: 'results',
  check: listOf(resultCheck),
  facts: {
    usage: shape({}, { inputTokens: amount, outputTokens: amount, totalTokens: amount }),
  },
}

function refuseTooMany(
  { input }: ModerationRequest,
  { maxTexts, maxImages = Infinity }: Pick<ModerationAdapter, 'maxTexts' | 'maxImages'>,
  requestId: string,
): void {
  const [count, most, what] = isTexts(input)
    ? [input.length, maxTexts, 'texts']
    : [input.filter(({ type }) => type === 'image').length, maxImages, 'images']
  if (count <= most) return
  const message = `input has ${count} ${what}; one call takes at most ${most}`
  throw new AdapterError('invalid_request', message, { provider: 'fake', requestId })
}

/** What the function of a fake says about an input. */
function judged(
  { input }: ModerationRequest,
  flag: FakeModerationOptions['flag'] = () => [],
): readonly ModerationResult[] {
  if (isTexts(input)) return input.map((one) => flaggedBy(flag, one, []))
  const words = input.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const images = input.flatMap((part) => (part.type === 'image' ? [part.image] : []))
  return [flaggedBy(flag, words, images)]
}

function flaggedBy(
  flag: NonNullable<FakeModerationOptions['flag']>,
  words: string,
  images: readonly Image[],
): ModerationResult {
  const names: unknown = flag(words, images)
  if (listOf(text)(names).length === 0) return moderationResult(...(names as readonly string[]))
  const problem = `must return a list of categories, not ${describe(names)}`
  throw refusal('invalid_options', 'flag', problem)
}

function responseOf(
  request: ModerationRequest,
  played: PlayedAnswer<readonly ModerationResult[], ScriptedModerationFacts>,
): ModerationResponse {
  const { value: results, facts = {} } = played
  return {
    ...scriptedFields(played, request),
    flagged: results.some(({ flagged }) => flagged),
    results,
    usage: facts.usage ?? {},
  }
}
