import type { AdapterOptions } from '../adapter/adapter-options.ts'
import type { ImageAdapter } from '../adapter/image-adapter.ts'
import { imageOperations, type ImageRequest } from '../data/image-request.ts'
import type { ImageResponse } from '../data/image-response.ts'
import { ValidationError } from '../errors/validation-error.ts'
import { callLog, withoutKey, type RecordedCall } from './call-log.ts'
import { checkFakeImagesOptions } from './check-fake-images-options.ts'
import { unsupportedOperation } from './image-failures.ts'
import type { ImageScriptEntry } from './image-script.ts'
import { playImageEntry, type ImageScript } from './play-image-entry.ts'
import { plainCopy } from './plain-copy.ts'
import { createScriptCursor, type ScriptCursor } from './script-cursor.ts'

/** What an image fake is made of. Everything is checked when it is made. */
export interface FakeImagesOptions {
  /** What the calls do, in order. */
  readonly script?: readonly ImageScriptEntry[] | undefined
  /** A place to share with other fakes, or to look at. Without one the fake has its own. */
  readonly scriptCursor?: ScriptCursor | undefined
  /** Is told of every call, also of one that is refused. The options come without `apiKey`. */
  readonly capture?:
    | ((call: { readonly request: ImageRequest; readonly options: AdapterOptions }) => void)
    | undefined
}

/** An image adapter that plays a script. It needs no model and no key. */
export interface FakeImages extends ImageAdapter {
  readonly provider: 'fake'
  /** The calls that arrived, in order, as frozen plain data: no key, no signal, no clock. */
  readonly calls: readonly RecordedCall<ImageRequest>[]
  /** How many entries were not played. */
  readonly remaining: number
  /** Throws a `ValidationError` when entries are left. */
  assertDone(): void
}

/**
 * Makes an image adapter that answers from a script, whatever the request says.
 *
 * A call is captured, then its operation is looked at, then the script is read. Beyond the last entry a call fails with `unknown`
 * and `metadata.cause` `no_scripted_image`. The request's id and metadata are on the response unless the script has its own.
 */
export function fakeImages(options: FakeImagesOptions = {}): FakeImages {
  checkFakeImagesOptions(options)
  const { scriptCursor = createScriptCursor(), capture } = options
  const script: ImageScript = { entries: plainCopy(options.script ?? []), cursor: scriptCursor }
  const log = callLog<ImageRequest, ImageRequest>({
    hold: (request) => ({ ...request }),
    restore: (request) => request,
  })
  const remaining = (): number => Math.max(0, script.entries.length - scriptCursor.index)
  return {
    provider: 'fake',
    supportedOperations: () => imageOperations,
    get calls() {
      return log.list()
    },
    get remaining() {
      return remaining()
    },
    async generate(request, callOptions = {}): Promise<ImageResponse> {
      log.add(request, callOptions)
      capture?.({ request, options: withoutKey(callOptions) })
      const requestId =
        callOptions.requestId ?? callOptions.newId?.('request') ?? `fake-request-${log.count}`
      if (!imageOperations.includes(request.operation))
        throw unsupportedOperation(request, requestId)
      return playImageEntry(script, request, requestId, callOptions.signal)
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
