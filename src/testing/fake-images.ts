import { ValidationError } from '../errors/errors.ts'
import { callLog, withoutKey } from './call-log.ts'
import { checkFakeImagesOptions } from './check-fake-images-options.ts'
import type { FakeImages, FakeImagesOptions } from './fake-images-options.ts'
import { plainCopy } from './plain-copy.ts'
import { playImageCall, type ImageScript } from './play-image-call.ts'
import { createScriptCursor } from './script-cursor.ts'
import { imageOperations, type ImageRequest } from '../types/media.ts'

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
    async generate(request, callOptions = {}) {
      log.add(request, callOptions)
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
