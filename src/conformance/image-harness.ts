import type { ImageCapability } from './capabilities.ts'
import type { ConformanceCase, Declares } from './conformance-case.ts'
import type { ImageAdapter } from '../contracts/adapter.ts'
import type { ImageScriptEntry } from '../testing/fake-images.ts'

/** How to make an image adapter whose wire plays a script. The operations that it declares are those of the adapter. */
export interface ImageHarness extends Declares<ImageCapability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time for a call (2000). */
  readonly patienceMs?: number | undefined
  /** Makes a new adapter whose calls play the entries, one after the other. */
  start(script: readonly ImageScriptEntry[]): StartedImageAdapter | Promise<StartedImageAdapter>
}

/** An image adapter, and a view of its wire. */
export interface StartedImageAdapter {
  readonly adapter: ImageAdapter
  /** What was sent so far, as JSON: addresses and bodies, without the headers that carry the key. */
  requests?(): readonly unknown[]
  /** Ends what is still open. Called once, after the case. */
  close?(): unknown
}

/** A case for image adapters. */
export type ImageCase = ConformanceCase<ImageHarness, ImageCapability>
