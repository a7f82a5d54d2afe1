import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ImagePart, TextPart } from '../../core/types/message.ts'
import type { ModerationRequest, ModerationResult } from '../../core/types/models.ts'
import {
  categoryTable,
  playedModeration,
  type ModerationScriptEntry,
} from '../fakes/fake-moderation.ts'
import { missing, openaiWords, params, wordProblem, wrongType } from './check-openai.ts'
import {
  firstProblem,
  kindOf,
  objectOf,
  objectsOf,
  paramProblem,
  shown,
  type RequestProblem,
} from './check-params.ts'
import { refusedPlan } from './plan.ts'
import { outcomeOf, type ServedModel } from './served-model.ts'
import { openaiHeaders } from './wire-failure.ts'
import { wireEpoch, type WireAnswer } from './wire-format.ts'
import { renderPlan } from './wire.ts'

/** The moderation endpoint of OpenAI. It answers with as many results as its script has; without a script everything is clean. */
export function servedModeration(
  script: readonly ModerationScriptEntry[] | undefined,
): ServedModel {
  const { play } = playedModeration({ script, maxTexts: Number.MAX_SAFE_INTEGER })
  return {
    check: (_route, body) => checkModeration(body),
    async answer(_route, { model, requestId, body }) {
      const input = inputOf(body['input'])
      const request: ModerationRequest = { input, providerOptions: {}, metadata: {} }
      const outcome = await outcomeOf(Promise.resolve().then(() => play(request, { requestId })))
      if ('answer' in outcome) {
        const named = typeof body['model'] === 'string' ? model : 'omni-moderation-latest'
        return verdicts(outcome.answer.value, input, { requestId, model: named })
      }
      return renderPlan('openai_chat', refusedPlan(outcome.failure), {
        id: `modr-${requestId}`,
        model,
        requestId,
        created: wireEpoch,
        stream: false,
        includeUsage: true,
        framing: 'sse',
      })
    },
  }
}

const table = Object.fromEntries([...params([], 'input'), ...params(['string'], 'model')])

/** The most images of a request. */
const maxImages = 1

/** Checks a request: unknown fields, a missing input, one of the wrong kind, too many images. */
function checkModeration(body: JsonObject): RequestProblem | undefined {
  const { input } = body
  const unknown = paramProblem(body, table, openaiWords)
  if (unknown !== undefined) return unknown
  if (input === undefined) return missing('input')
  if (typeof input === 'string') return undefined
  if (!Array.isArray(input)) return wrongType('input', 'a string or an array', kindOf(input))
  if (input.length === 0) return { message: "Invalid 'input': empty array.", param: 'input' }
  if (input.every((item) => typeof item === 'string')) return undefined
  const items = objectsOf(input)
  const images = items.filter(({ type }) => type === 'image_url').length
  if (images > maxImages) {
    const message = `Number of images (${images}) exceeds maximum of ${maxImages}`
    return { message, param: 'input', code: 'too_many_images' }
  }
  return firstProblem(items, itemProblem)
}

function itemProblem(
  { type, text, image_url: image }: JsonObject,
  index: number,
): RequestProblem | undefined {
  const at = `input[${index}]`
  const unknown = wordProblem(`${at}.type`, type, ['text', 'image_url'])
  if (unknown !== undefined) return unknown
  if (type === 'text') return typeof text === 'string' ? undefined : missing(`${at}.text`)
  return typeof objectOf(image)['url'] === 'string' ? undefined : missing(`${at}.image_url.url`)
}

/** The input as the fake takes it. Only how many there are matters, and which are images. */
function inputOf(input: JsonValue | undefined): ModerationRequest['input'] {
  if (typeof input === 'string') return [input]
  if (Array.isArray(input) && input.every((item) => typeof item === 'string')) return input
  return objectsOf(input).map(({ type, text, image_url: image }): TextPart | ImagePart =>
    type === 'image_url'
      ? { type: 'image', image: { type: 'url', url: shown(objectOf(image)['url']) } }
      : { type: 'text', text: shown(text) },
  )
}

function verdicts(
  results: readonly ModerationResult[],
  input: ModerationRequest['input'],
  { requestId, model }: { readonly requestId: string; readonly model: string },
): WireAnswer {
  const types = new Set(input.map((item) => (typeof item === 'string' ? 'text' : item.type)))
  const body: JsonObject = {
    id: `modr-${requestId}`,
    model,
    results: results.map((result) => verdict(result, types)),
  }
  return {
    status: 200,
    headers: { ...openaiHeaders(requestId), 'content-type': 'application/json' },
    frames: [{ bytes: new TextEncoder().encode(JSON.stringify(body)) }],
    end: 'normal',
  }
}

/** One result: every category of OpenAI has its place, whatever the script says. */
function verdict(
  { flagged, categories, scores }: ModerationResult,
  types: ReadonlySet<string>,
): JsonObject {
  const names = [...new Set([...Object.keys(categoryTable), ...Object.keys(categories)])]
  return {
    flagged,
    categories: Object.fromEntries(names.map((name) => [name, categories[name] ?? false])),
    category_scores: Object.fromEntries(names.map((name) => [name, scores[name] ?? 0])),
    category_applied_input_types: Object.fromEntries(
      names.map((name) => {
        const judged = categoryTable[name] === 'image' ? ['text', 'image'] : ['text']
        return [name, judged.filter((type) => types.has(type))]
      }),
    ),
  }
}
