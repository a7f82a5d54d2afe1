import type { ChatCapability } from './capabilities.ts'
import type { ConformanceCase, Declares } from './conformance-case.ts'
import type { ChatAdapter } from '../contracts/adapter.ts'
import type { Clock } from '../core/clock.ts'
import type { Script } from '../testing/script.ts'

/**
 * How to make a chat adapter whose wire plays a script. The harness of a fake is three lines; that of a provider renders the
 * script as the provider's own bytes, or lets a fake server do it.
 */
export interface ChatHarness extends Declares<ChatCapability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time for what has to happen soon (2000). */
  readonly patienceMs?: number | undefined
  /** Makes a new adapter whose first call plays the script. */
  start(script: Script, options?: StartOptions): StartedAdapter | Promise<StartedAdapter>
}

/** How a script is to be played. A harness honours what belongs to the capabilities that it declares. */
export interface StartOptions {
  /** The scripts of the calls after the first. */
  readonly more?: readonly Script[] | undefined
  /** The waits of a script go through it. Cases pass the same clock to the adapter. */
  readonly clock?: Clock | undefined
  /** Cut the bytes anywhere, also inside a character: pieces of `maxBytes` at most, at places that the seed decides. */
  readonly chunking?: { readonly seed: number; readonly maxBytes: number } | undefined
}

/** An adapter, and a view of its wire. */
export interface StartedAdapter {
  readonly adapter: ChatAdapter
  /** How many connections are open now. */
  openConnections?(): number
  /** What was sent so far, as JSON: addresses and bodies, without the headers that carry the key. */
  requests?(): readonly unknown[]
  /** Ends what is still open. Called once, after the case. */
  close?(): unknown
}

/** A case for chat adapters. */
export type ChatCase = ConformanceCase<ChatHarness, ChatCapability>
