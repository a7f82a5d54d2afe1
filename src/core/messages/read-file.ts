import { systemClock, type Clock } from '../base/clock.ts'
import {
  anySignal,
  must,
  optionsOf,
  positiveInteger,
  timeoutMs,
  type Check,
} from '../schema/checks.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'

/** How a local file is read. */
export interface ReadOptions {
  /** A larger file is refused before it is read. */
  readonly maxBytes?: number | undefined
  /** How long opening and reading may take; 30,000 by default. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The clock of the timeout. */
  readonly clock?: Clock | undefined
}

/** The problems of options: of those here, and of the caller's own. */
export function readIssues(
  options: unknown,
  own: Readonly<Record<string, Check>>,
): readonly Issue[] {
  const checks = {
    maxBytes: positiveInteger,
    timeoutMs,
    signal: anySignal,
    clock: must('a clock', (value) => isObject(value) && typeof value['sleep'] === 'function'),
  } satisfies Readonly<Record<keyof ReadOptions, Check>>
  return optionsOf({ ...checks, ...own })(options)
}

/** The bytes of a file, or why it was not read, as a sentence that follows the word `path`. */
type ReadOutcome =
  | { readonly bytes: Uint8Array; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * Reads a regular file through Node's file system. Everything but an aborted `signal` is a problem; nothing else throws.
 *
 * Pipes, devices and sockets are refused without waiting for them, and so are files whose size is not what their file
 * system says, such as those of `/proc`. A symbolic link to a regular file is followed.
 */
export async function readLocalFile(
  path: string,
  options: ReadOptions & { readonly maxBytes: number },
): Promise<ReadOutcome> {
  const { maxBytes, timeoutMs: limit = 30_000, clock = systemClock, signal } = options
  if (typeof path !== 'string' || path === '') return { problem: 'must be a non-empty string' }
  // Node is optional here, so its global is looked up, not declared.
  const files = (globalThis as Host).process?.getBuiltinModule?.('node:fs')
  if (files === undefined) {
    return { problem: 'cannot be read: this runtime has no file system; pass the bytes instead' }
  }
  signal?.throwIfAborted()
  const done = new AbortController()
  const stop = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal])
  const late = { problem: `could not be read within ${limit} ms` }
  try {
    // A read that hangs cannot be cancelled. It is left behind, and its file is closed when it ends.
    return await Promise.race([
      readRegularFile(files, path, maxBytes).catch(unreadable),
      clock.sleep(limit, stop).then(() => late),
    ])
  } finally {
    done.abort()
  }
}

function unreadable(thrown: unknown): ReadOutcome {
  return { problem: `cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}` }
}

async function readRegularFile(
  { promises, constants }: FileSystem,
  path: string,
  maxBytes: number,
): Promise<ReadOutcome> {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants
  // Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
  const file = await promises.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
  try {
    // The open file is judged, not the path, which may lead elsewhere a moment later.
    const facts = await file.stat()
    if (!facts.isFile()) return { problem: 'is not a regular file' }
    const { size } = facts
    if (size === 0) return { problem: 'is an empty file' }
    if (size > maxBytes) return { problem: `has ${size} bytes; at most ${maxBytes} are read` }
    const bytes = new Uint8Array(size + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length)
      length += bytesRead
      if (bytesRead === 0 || length > size) break
    }
    if (length !== size) return { problem: `does not have the ${size} bytes that it should have` }
    return { bytes: bytes.subarray(0, size) }
  } finally {
    await file.close()
  }
}

/** The part of `node:fs` that is used. */
interface FileSystem {
  readonly promises: { open(path: string, flags: number): Promise<FileHandle> }
  readonly constants: {
    readonly O_RDONLY: number
    /** Absent on Windows. */
    readonly O_NONBLOCK?: number
    readonly O_NOCTTY?: number
  }
}

interface FileHandle {
  stat(): Promise<{ readonly size: number; isFile(): boolean }>
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>
  close(): Promise<void>
}

interface Host {
  readonly process?: { readonly getBuiltinModule?: (name: string) => FileSystem | undefined }
}
