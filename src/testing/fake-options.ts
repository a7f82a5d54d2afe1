import type { AdapterOptions } from '../contracts/adapter.ts'
import type { ScriptCursor } from './script-cursor.ts'
import type { Script } from './script-entry.ts'
import type { ModelRequest } from '../types/request.ts'
import type { Usage } from '../types/response.ts'

/** The scripts of a fake. */
export interface ScriptOptions {
  /** What one call does. */
  readonly script?: Script | undefined
  /** What each call does, one list a call. */
  readonly scripts?: readonly Script[] | undefined
  /** The same for `stream` alone, as one call or one list a call; `generate` then has `script` or `scripts` for itself. */
  readonly streamScript?: Script | readonly Script[] | undefined
  /** A place to share with other fakes, or to look at. Without one the fake has its own. */
  readonly scriptCursor?: ScriptCursor | undefined
}

/** What a fake is made of. Everything is checked when it is made. */
export interface FakeOptions extends ScriptOptions {
  /** The usage of every answer; it takes the place of `usage` entries. */
  readonly usage?: Usage | undefined
  /** Is told of every call before its script is read. The options come without `apiKey`. */
  readonly record?: ((request: ModelRequest, options: AdapterOptions) => void) | undefined
  /** Is told once for every stream that was begun, when it is over: read to its end, left, failed or aborted. */
  readonly cleanupObserver?: (() => void) | undefined
  /**
   * The first n−1 calls fail with `timeout` and use up no script. `generate` is tried again by the default policy; `stream`
   * gives the failure as its last event.
   */
  readonly retryUntilCall?: number | undefined
}
