import type { AdapterOptions, ImageAdapter } from '../contracts/adapter.ts'
import { errorFromJSON } from '../errors/error-json.ts'
import {
  ImageAdapterError,
  imageAdapterErrorReasons,
  isAllmError,
  ValidationError,
} from '../errors/errors.ts'
import {
  assertValid,
  positiveInteger,
  fine,
  isPlainObject,
  join,
  jsonObject,
  listOf,
  must,
  optionsOf,
  refuse,
  shape,
  someText,
  text,
  within,
  type Check,
} from '../schema/checks.ts'
import { validateImage } from '../schema/validate.ts'
import type { ErrorData, Issue } from '../types/error-data.ts'
import { assertNever, defined } from '../types/guards.ts'
import {
  imageOperations,
  type Image,
  type ImageRequest,
  type ImageResponse,
  type ImageUsage,
} from '../types/media.ts'
import { callLog, plainCopy, withoutKey, type RecordedCall } from './fake.ts'
import { stoppedBy } from './interpret.ts'
import { createScriptCursor, isScriptCursor, type ScriptCursor } from './script.ts'

/**
 * Makes an image adapter that answers from a script. The answer does not depend on the request.
 *
 * A call is captured first, then its operation is checked, then the script is read. A call after the last entry fails with
 * `unknown` and `metadata.cause` `no_scripted_image`. The response has the id and the metadata of the request, unless the script
 * has its own.
 */
export function fakeImages(options: FakeImagesOptions = {}): FakeImages {
  checkFakeImagesOptions(options)
  const { scriptCursor = createScriptCursor(), capture } = options
  const script: ImageScript = { entries: plainCopy(options.script ?? []), cursor: scriptCursor }
  const log = callLog<ImageRequest>()
  const remaining = (): number => Math.max(0, script.entries.length - scriptCursor.index)
  return {
    provider: 'fake',
    supportedOperations: () => [...imageOperations],
    get calls() {
      return log.list()
    },
    get remaining() {
      return remaining()
    },
    async generate(request, callOptions = {}) {
      log.add({ ...request }, callOptions)
      capture?.({ request, options: withoutKey(callOptions) })
      const requestId =
        callOptions.requestId ?? callOptions.newId?.('request') ?? `fake-request-${log.count}`
      return playImageCall(script, request, requestId, callOptions.signal)
    },
    assertDone() {
      const left = remaining()
      if (left === 0) return
      const entries = left === 1 ? '1 entry was' : `${left} entries were`
      throw new ValidationError('invalid_script', [
        { path: 'script', problem: `${entries} not played` },
      ])
    },
  }
}

/** Options of `fakeImages`. All of them are checked when the fake is made. */
export interface FakeImagesOptions {
  /** One entry per call, in order. */
  readonly script?: readonly ImageScriptEntry[] | undefined
  /** A cursor to share with other fakes, or to read. Without one the fake has its own. */
  readonly scriptCursor?: ScriptCursor | undefined
  /** Called for every call, also for one that is refused. The options come without `apiKey`. */
  readonly capture?:
    | ((call: { readonly request: ImageRequest; readonly options: AdapterOptions }) => void)
    | undefined
}

/** An image adapter that plays a script. It needs no model and no key. */
export interface FakeImages extends ImageAdapter {
  readonly provider: 'fake'
  /** The calls so far, in order, as frozen plain data without key, signal and clock. */
  readonly calls: readonly RecordedCall<ImageRequest>[]
  /** The number of entries that were not played. */
  readonly remaining: number
  /** Throws a `ValidationError` if there are entries that were not played. */
  assertDone(): void
}

/** Refuses an invalid script, with the path of every problem, and unknown options. */
function checkFakeImagesOptions(options: unknown): void {
  const script = isPlainObject(options) ? (options['script'] ?? []) : []
  assertValid('invalid_script', within('script', checkImageScript(script)))
  assertValid('invalid_options', check(options))
}

const check: Check = optionsOf({
  script: () => fine,
  scriptCursor: must('made by createScriptCursor()', isScriptCursor),
  capture: must('a function', (value) => typeof value === 'function'),
})

/** The problems of an image script, each with its path. */
const checkImageScript: Check = (value) => {
  if (!Array.isArray(value)) return refuse('a list of entries', value)
  let issues = fine
  for (const [index, entry] of value.entries()) {
    issues = join(issues, within(index, checkImageEntry(entry)))
  }
  return issues
}

function checkImageEntry(entry: unknown): readonly Issue[] {
  if (!Array.isArray(entry)) return refuse('an entry, such as ["ok", images]', entry)
  const items: readonly unknown[] = entry
  const [tag, first, facts] = items
  switch (tag) {
    case 'ok':
      return join(
        join(arity(entry, 2, 3), within(1, images(first))),
        entry.length > 2 ? within(2, imageFacts(facts)) : fine,
      )
    case 'error':
      return join(arity(entry, 2, 2), within(1, imageError(first)))
    case 'retry_until_call':
      return join(arity(entry, 2, 2), within(1, positiveInteger(first)))
    default:
      return [{ path: '', problem: `has the unknown tag ${JSON.stringify(tag)}; ${grammar}` }]
  }
}

const grammar =
  'image scripts have ["ok", images], ["ok", images, {usage}], ["error", error] and ["retry_until_call", n]'

function arity(entry: readonly unknown[], least: number, most: number): readonly Issue[] {
  if (entry.length >= least && entry.length <= most) return fine
  const wanted = least === most ? `${most}` : `${least} or ${most}`
  return [{ path: '', problem: `must have ${wanted} elements, not ${entry.length}` }]
}

const images: Check = listOf(validateImage)

const amount: Check = must(
  'a number, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

const imageUsage: Check = shape(
  {},
  {
    images: amount,
    inputTokens: amount,
    outputTokens: amount,
    totalTokens: amount,
    size: text,
    quality: text,
    extra: jsonObject,
  },
)

const imageFacts: Check = shape(
  {},
  {
    usage: imageUsage,
    requestId: someText,
    id: text,
    model: text,
    warnings: listOf(shape({ setting: text, problem: text })),
    metadata: jsonObject,
  },
)

const imageError: Check = (value) => {
  if (isAllmError(value)) {
    return value.kind === 'image_adapter' ? fine : refuse('an ImageAdapterError', value)
  }
  if (!isPlainObject(value) || value['kind'] !== 'image_adapter') {
    return refuse('an ImageAdapterError or its JSON', value)
  }
  const { reason } = value
  const known = imageAdapterErrorReasons.some((word) => word === reason)
  return known ? fine : within('reason', refuse(imageAdapterErrorReasons.join(', '), reason))
}

/** The facts of a scripted image answer beside its images. */
export type ScriptedImageFacts = Partial<
  Pick<ImageResponse, 'requestId' | 'id' | 'model' | 'warnings' | 'metadata'>
> & { readonly usage?: Partial<ImageUsage> }

/** One entry of an image script. */
export type ImageScriptEntry =
  | readonly ['ok', readonly Image[]]
  | readonly ['ok', readonly Image[], ScriptedImageFacts]
  /** The error that the call rejects with, or its JSON. */
  | readonly ['error', ImageAdapterError | ErrorData]
  /** The first n−1 calls fail with `rate_limited`; the n-th takes the next entry. */
  | readonly ['retry_until_call', number]

/** The entries of an image fake and the position in them. */
interface ImageScript {
  readonly entries: readonly ImageScriptEntry[]
  readonly cursor: ScriptCursor
}

/** Checks the operation, then answers with the next entry of the script: returns the response or throws. */
function playImageCall(
  script: ImageScript,
  request: ImageRequest,
  requestId: string,
  signal: AbortSignal | undefined,
): ImageResponse {
  if (!imageOperations.includes(request.operation)) throw unsupportedOperation(request, requestId)
  if (signal?.aborted === true) throw stoppedBy(signal, { provider: 'fake', requestId }, 0)
  const entry = takeEntry(script, requestId)
  switch (entry[0]) {
    case 'ok':
      return imageResponse(entry, request, requestId)
    case 'error':
      // An instance is thrown as it is. JSON makes a new instance for each call.
      throw isAllmError(entry[1]) ? entry[1] : errorFromJSON(entry[1])
    default:
      return assertNever(entry)
  }
}

type Answer = Exclude<ImageScriptEntry, readonly ['retry_until_call', number]>

function takeEntry({ entries, cursor }: ImageScript, requestId: string): Answer {
  for (;;) {
    const entry = entries[cursor.index]
    if (entry === undefined) throw noScriptedImage(entries.length, requestId)
    if (entry[0] === 'retry_until_call' && cursor.stay() < entry[1]) {
      throw tryAgain(entry[1], requestId)
    }
    cursor.advance()
    if (entry[0] !== 'retry_until_call') return entry
  }
}

function imageResponse(
  [, images, facts = {}]: Extract<ImageScriptEntry, readonly ['ok', ...unknown[]]>,
  request: ImageRequest,
  requestId: string,
): ImageResponse {
  return defined<ImageResponse>({
    requestId: facts.requestId ?? requestId,
    id: facts.id,
    model: facts.model ?? request.model,
    provider: 'fake',
    images,
    usage: { images: images.length, ...facts.usage },
    warnings: facts.warnings ?? [],
    metadata: facts.metadata ?? request.metadata,
  })
}

const provider = 'fake'

function unsupportedOperation({ operation }: ImageRequest, requestId: string): ImageAdapterError {
  const message = `the fake does not support the operation ${JSON.stringify(operation)}; it has ${imageOperations.join(', ')}`
  const metadata = { operation }
  return new ImageAdapterError('unsupported_operation', message, { provider, requestId, metadata })
}

function noScriptedImage(entryCount: number, requestId: string): ImageAdapterError {
  const entries = entryCount === 1 ? '1 entry' : `${entryCount} entries`
  const message = `no scripted image: the script has ${entries} and all were played`
  const metadata = { cause: 'no_scripted_image' }
  return new ImageAdapterError('unknown', message, { provider, requestId, metadata })
}

function tryAgain(firstGoodCall: number, requestId: string): ImageAdapterError {
  const message = `a scripted rate limit: the next entry is played from call ${firstGoodCall} on`
  return new ImageAdapterError('rate_limited', message, { provider, requestId, retryAfterMs: 0 })
}
