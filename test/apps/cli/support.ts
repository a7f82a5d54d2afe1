import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import type { Io, Output } from '../../../src/apps/cli/io.ts'
import { runProgram } from '../../../src/apps/cli/program.ts'
import type { Clock } from '../../../src/index.ts'
import { virtualClock } from '../../../src/testing.ts'

/** What a run of the program left behind. */
export interface Played {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A program under way, in this process. */
export interface Playing {
  readonly ended: Promise<Played>
  /** What it has written so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly type: (text: string) => void
  readonly pressCtrlC: () => void
  /** Whether somebody listens to Ctrl-C. */
  readonly hearsCtrlC: () => boolean
}

/** Starts `allm-ts` with these arguments. Its input stays open until `type('')`, unless `input` is given. */
export function start(
  argv: readonly string[],
  { input, ...world }: Partial<Io> & { readonly input?: string } = {},
): Playing {
  const stdout = sink()
  const stderr = sink()
  const typed = new PassThrough()
  const listeners = new Set<() => void>()
  const ended = runProgram({
    argv,
    stdin: input === undefined ? typed : Readable.from([input]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: {},
    clock: virtualClock(),
    onInterrupt: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ...world,
  })
  return {
    ended: ended.then((code) => ({ code, stdout: stdout.text(), stderr: stderr.text() })),
    stdout: stdout.text,
    stderr: stderr.text,
    type: (text) => void (text === '' ? typed.end() : typed.write(text)),
    pressCtrlC: () => [...listeners].forEach((listener) => listener()),
    hearsCtrlC: () => listeners.size > 0,
  }
}

/** Runs `allm-ts` to its end. */
export function allm(
  argv: readonly string[],
  world: Partial<Io> & { readonly input?: string } = {},
): Promise<Played> {
  return start(argv, { input: '', ...world }).ended
}

/**
 * A clock for runs over a real socket, whose pace a virtual clock cannot see: sleeps end at once, and no timeout is ever reached.
 */
export const hastyClock: Clock = {
  now: () => Date.now(),
  sleep: () => Promise.resolve(),
  timer: () => () => undefined,
}

/** A path in a folder of its own, which is removed after the test. */
export function scratch(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'allm-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}

/** The seconds of progress lines, by hand. */
export function ticker(): {
  readonly every: NonNullable<Io['everySecond']>
  readonly tick: (times?: number) => void
  readonly listens: () => boolean
} {
  const listeners = new Set<() => void>()
  return {
    every: (onSecond) => {
      listeners.add(onSecond)
      return () => listeners.delete(onSecond)
    },
    tick: (times = 1) => {
      for (let count = 0; count < times; count++) listeners.forEach((listener) => listener())
    },
    listens: () => listeners.size > 0,
  }
}

/** An output that is a terminal: all that was written to it, and what can be seen on its last line. */
export function terminal(columns = 80): {
  readonly stream: Output
  readonly text: () => string
  readonly shown: () => string
} {
  const { stream, text } = sink()
  const last = (): string => text().split('\n').at(-1)?.split('\r\u001B[K').at(-1) ?? ''
  return {
    stream: Object.assign(stream, { isTTY: true, columns }),
    text,
    shown: () => stripVTControlCharacters(last()),
  }
}

function sink(): { readonly stream: Writable; readonly text: () => string } {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  return { stream, text: () => text }
}
