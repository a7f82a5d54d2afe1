import type { AdapterOptions, ImageAdapter } from '../contracts/adapter.ts'
import type { RecordedCall } from './call-log.ts'
import type { ImageScriptEntry } from './image-script-entry.ts'
import type { ScriptCursor } from './script-cursor.ts'
import type { ImageRequest } from '../types/media.ts'

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
