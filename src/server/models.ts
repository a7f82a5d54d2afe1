import type { ImageScriptEntry } from '../testing/fake-images.ts'
import type { ModerationScriptEntry } from '../testing/fake-moderation.ts'
import type { ServedKind, ServedModel } from './served-model.ts'
import { servedImages } from './wire-images.ts'
import { servedModeration } from './wire-moderation.ts'

/** The scripts of the models that are not chat, as the options of a server: one entry per call, as those of the matching fake. */
export interface ModelScripts {
  /** One entry per image call, as those of `fakeImages`. */
  readonly images?: readonly ImageScriptEntry[] | undefined
  /** One entry per moderation call, as those of `fakeModeration`. Without a script everything is clean. */
  readonly moderation?: readonly ModerationScriptEntry[] | undefined
}

/** Makes the models of a server, each with its own place in its script. An invalid script throws. */
export const serveModel: {
  readonly [Kind in ServedKind]: (scripts: ModelScripts) => ServedModel
} = {
  images: ({ images }) => servedImages(images ?? []),
  moderation: ({ moderation }) => servedModeration(moderation),
}
