import type { Clock } from '../core/clock.ts'
import type { Fault, SeededFailures } from './faults.ts'
import type { ImageScriptEntry } from '../testing/fake-images.ts'
import type { Script } from '../testing/script.ts'
import type { WireChunking } from '../wire/wire-answer.ts'

/** What a fake server is made of. Everything but `clock` is JSON, and all of it is checked when the server is made. */
export interface FakeServerOptions {
  /** What one call does. */
  readonly script?: Script | undefined
  /** What each call does, one list a call. */
  readonly scripts?: readonly Script[] | undefined
  /** What image calls do, one entry a call. */
  readonly images?: readonly ImageScriptEntry[] | undefined
  /** Begin again after the last script instead of failing (false). */
  readonly repeat?: boolean | undefined
  /** One place in the scripts for all (`shared`), or one for each API key, so that parallel tests do not disturb each other. */
  readonly cursor?: 'shared' | 'per_key' | undefined
  /** Refuse requests without a key (true). Any key will do. */
  readonly requireKey?: boolean | undefined
  /** Refuse requests that the provider would refuse (true). */
  readonly validateRequests?: boolean | undefined
  /** The names that the models endpoints list. */
  readonly models?: readonly string[] | undefined
  /** Cut what is sent into other pieces. */
  readonly chunking?: WireChunking | undefined
  /** What goes wrong by chance. */
  readonly failures?: SeededFailures | undefined
  /** What goes wrong with the first calls, one item a call; `null` for nothing. */
  readonly faults?: readonly (Fault | null)[] | undefined
  /** 0, the default, is any free port. */
  readonly port?: number | undefined
  /** The address to listen on (`127.0.0.1`). */
  readonly host?: string | undefined
  /** How many of the last requests are kept at least (10 000). */
  readonly requestLimit?: number | undefined
  /** Delays go through it. */
  readonly clock?: Clock | undefined
}
