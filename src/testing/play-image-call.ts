import { errorFromJSON } from '../errors/error-json.ts'
import { isAllmError } from '../errors/errors.ts'
import { noScriptedImage, tryAgain, unsupportedOperation } from './image-failures.ts'
import type { ImageScriptEntry } from './image-script-entry.ts'
import type { ScriptCursor } from './script-cursor.ts'
import { stoppedBy } from './stopped-by.ts'
import { assertNever, defined } from '../types/guards.ts'
import { imageOperations, type ImageRequest, type ImageResponse } from '../types/media.ts'

/** The entries of an image fake and the place in them. */
export interface ImageScript {
  readonly entries: readonly ImageScriptEntry[]
  readonly cursor: ScriptCursor
}

/** Looks at the operation, then takes the next entry of the script and answers with it: the response, or a throw. */
export function playImageCall(
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
      // An instance is thrown as it is; JSON makes a new one for each call.
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
    metadata: facts.metadata ?? request.metadata,
  })
}
