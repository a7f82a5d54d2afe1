import type { Clock } from '../core/clock.ts'

/** A stream to write to; a terminal says so. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A stream to read from; a terminal says so. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined }

/** All that the program knows of the world around it. A test brings its own. */
export interface Io {
  /** The arguments after the program's name. */
  readonly argv: readonly string[]
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Calls back at each Ctrl-C, until the returned function is called. While nobody listens, Ctrl-C ends the program. */
  readonly onInterrupt: (listener: () => void) => () => void
  /** In place of the real clock. */
  readonly clock?: Clock | undefined
  /** In place of the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

/** Whether somebody sits at both ends: questions can be asked, and are seen. */
export function isInteractive({ stdin, stdout }: Io): boolean {
  return stdin.isTTY === true && stdout.isTTY === true
}
