import { isTexts } from '../../core/answer/moderation.ts'
import type { ModerationAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { imageToDataUri } from '../../core/messages/media.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ImagePart, TextPart } from '../../core/types/message.ts'
import type {
  ModerationRequest,
  ModerationResponse,
  ModerationResult,
} from '../../core/types/models.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { JsonAnswer } from '../http/post.ts'
import {
  modelCaller,
  responseFields,
  type AnswerContext,
  type CallOrigin,
} from '../shared/model-caller.ts'
import { asList, asObject, asText } from '../shared/read-json.ts'
import { failureParser } from '../shared/reported-failure.ts'
import { requestBody } from '../shared/request-body.ts'
import type { ImageLimits } from '../vision/fetch-image.ts'
import { resolveImage } from '../vision/resolve-images.ts'
import { settleOptions, type OpenAiOptions } from './openai.ts'

/**
 * An adapter for OpenAI's moderation API, and for compatible servers. A text is the name of the model.
 *
 * Without a model the provider's default judges. Images at an address are passed on, those that hold their bytes are sent; one that only
 * the provider's id names is refused, because the API takes none. The options `api`, `family` and `compat` are for chat and have no effect here.
 */
export function openaiModeration(options: OpenAiOptions | string = {}): ModerationAdapter {
  const given = typeof options === 'string' ? { model: options } : options
  const { connection, headers } = settleOptions(given)
  const { provider, api, model, key, server } = connection
  return {
    provider,
    model,
    key,
    server,
    maxTexts,
    maxImages,
    moderate: modelCaller({
      connection,
      headers,
      parseFailure: failureParser(provider),
      refuse: assertPossible,
      path: () => ['/moderations'],
      body: (request, _call, warn) => {
        const body = renderRequest(request, provider, warn)
        return JSON.stringify(
          mergeOptions(body, optionsFor(api, provider, request.providerOptions)),
        )
      },
      read: parseVerdicts,
    }),
  }
}

/** The API documents no limit; so many are known to be taken. */
const maxTexts = 1000

const maxImages = 1

/** The API documents the size; the types are those of its chat models. */
const imageLimits: Omit<ImageLimits, 'provider'> = {
  maxBytes: 20 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
}

/** Throws if the API cannot take the input. */
function assertPossible({ input }: ModerationRequest, call: CallOrigin): void {
  const problems = isTexts(input) ? tooMany(input, maxTexts, 'texts') : partProblems(input, call)
  if (problems.length === 0) return
  const isStored = !isTexts(input) && input.some((part) => isImageById(part))
  const reason = isStored ? 'unsupported_feature' : 'invalid_request'
  throw new AdapterError(reason, problems.join('; '), call)
}

function tooMany(items: readonly unknown[], most: number, what: string): readonly string[] {
  if (items.length <= most) return []
  return [`input has ${items.length} ${what}; one call takes at most ${most}`]
}

function partProblems(
  parts: readonly (TextPart | ImagePart)[],
  { provider }: CallOrigin,
): readonly string[] {
  const images = parts.filter(({ type }) => type === 'image')
  const problems = parts.flatMap((part, at) => {
    if (part.type !== 'image') return []
    const { problem } = isImageById(part)
      ? { problem: 'is named by an id, and moderation takes none: pass its bytes' }
      : resolveImage(part.image, { provider, ...imageLimits }, false)
    return problem === undefined ? [] : [`input[${at}] ${problem}`]
  })
  return [...tooMany(images, maxImages, 'images'), ...problems]
}

/** Moderation takes no uploads. */
function isImageById(part: TextPart | ImagePart): boolean {
  return part.type === 'image' && part.image.type === 'id'
}

function renderRequest(request: ModerationRequest, provider: string, warn: Warn): JsonObject {
  const { input, model } = request
  return requestBody<ModerationRequest>({
    model: { model },
    input: { input: isTexts(input) ? renderTexts(input) : renderParts(input, provider, warn) },
    // They are merged over the body.
    providerOptions: {},
    metadata: {},
  })
}

/** A single text is sent as such, because not every compatible server takes lists. */
function renderTexts(texts: readonly string[]): JsonValue {
  const [text = ''] = texts
  return texts.length === 1 ? text : texts
}

function renderParts(
  parts: readonly (TextPart | ImagePart)[],
  provider: string,
  warn: Warn,
): JsonValue {
  return parts.map((part): JsonObject => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    if (part.detail !== undefined) warn('detail', `${provider} has no parameter for it here`)
    return { type: 'image_url', image_url: { url: addressOf(part, provider) } }
  })
}

/** The address of an image, or its bytes as one. They were checked by then. */
function addressOf({ image }: ImagePart, provider: string): string {
  if (image.type === 'url') return image.url
  const outcome = resolveImage(image, { provider, ...imageLimits }, false)
  return imageToDataUri(outcome.problem === undefined ? outcome.image : image)
}

/** Reads the verdicts. One that is missing or cannot be read is `malformed_response`, never a clean one. */
function parseVerdicts(
  { value, status, headers }: JsonAnswer,
  context: AnswerContext<ModerationRequest>,
): ModerationResponse {
  const { provider, requestId } = context.call
  const { input } = context.request
  const fail = (problem: string): AdapterError => {
    const message = `${provider} answered without a verdict: ${problem}`
    return new AdapterError('malformed_response', message, { provider, requestId, status })
  }
  const body = asObject(value)
  const wanted = isTexts(input) ? input.length : 1
  const list = asList(body?.['results'])
  if (list.length !== wanted) throw fail(`it has ${list.length} results for ${wanted}`)
  const results = list.map((item, at): ModerationResult => {
    const { flagged, categories, category_scores: scores } = asObject(item) ?? {}
    const place = `results[${at}]`
    if (typeof flagged !== 'boolean') throw fail(`${place}.flagged is not true or false`)
    return {
      flagged,
      categories: members(categories, isFlag, () => fail(`${place}.categories cannot be read`)),
      scores: members(scores, isScore, () => fail(`${place}.category_scores cannot be read`)),
    }
  })
  return {
    ...responseFields(context, {
      id: asText(body?.['id']),
      model: asText(body?.['model']),
      headers,
    }),
    flagged: results.some(({ flagged }) => flagged),
    results,
    usage: {},
  }
}

function isFlag(value: JsonValue): value is boolean {
  return typeof value === 'boolean'
}

function isScore(value: JsonValue): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1
}

/** The members of an object, which are all of one kind. One that is `null` does not apply to the model. */
function members<Value extends JsonValue>(
  value: JsonValue | undefined,
  isKind: (member: JsonValue) => member is Value,
  fail: () => AdapterError,
): Readonly<Record<string, Value>> {
  const object = asObject(value)
  if (object === undefined) throw fail()
  const told = Object.entries(object).filter(([, member]) => member !== null)
  return Object.fromEntries(
    told.map(([name, member]) => {
      if (!isKind(member)) throw fail()
      return [name, member]
    }),
  )
}
