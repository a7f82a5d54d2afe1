import { createInterface, type Interface } from 'node:readline'
import { styleText } from 'node:util'
import type { Clock } from '../core/clock.ts'

/** A stream to write to; a terminal says so. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A stream to read from; a terminal says so. */
type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined }

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

/** What came of waiting for a line. */
type Answer =
  | { readonly type: 'line'; readonly text: string }
  /** Ctrl-C at the prompt. */
  | { readonly type: 'interrupt' }
  /** Ctrl-D, or the end of the input. */
  | { readonly type: 'end' }

/** Reads lines, one when it is asked for. */
export interface LineReader {
  ask(prompt: string): Promise<Answer>
  close(): void
}

/**
 * A reader of the program's input. At a terminal a line can be edited and earlier lines come back with the arrow keys.
 *
 * The terminal is let go between two questions, so Ctrl-C during a turn is the system's signal. Lines that came together are kept.
 */
export function lineReader(io: Io): LineReader {
  return isInteractive(io) ? terminalReader(io) : pipeReader(io)
}

function terminalReader({ stdin, stdout }: Io): LineReader {
  const lines: string[] = []
  let history: string[] = []
  let draft = ''
  const ask = (prompt: string): Promise<Answer> =>
    new Promise((resolve) => {
      const waiting = lines.shift()
      if (waiting !== undefined) {
        stdout.write(`${prompt}${waiting}\n`)
        resolve({ type: 'line', text: waiting })
        return
      }
      const terminal = createInterface({ input: stdin, output: stdout, prompt, history })
      const finish = (answer: Answer): void => {
        terminal.off('close', ended)
        draft = answer.type === 'line' ? terminal.line : ''
        // Only a line that was sent has moved on to the next.
        if (answer.type !== 'line') stdout.write('\n')
        terminal.close()
        resolve(answer)
      }
      const ended = (): void => finish({ type: 'end' })
      terminal.on('history', (all: string[]) => (history = [...all]))
      terminal.on('line', (line) => {
        lines.push(line)
        // Several lines may arrive in one piece: the others are for the next questions.
        if (lines.length === 1)
          queueMicrotask(() => finish({ type: 'line', text: lines.shift() ?? '' }))
      })
      terminal.on('SIGINT', () => finish({ type: 'interrupt' }))
      terminal.on('close', ended)
      terminal.prompt()
      // What was typed after the last line, and not sent.
      if (draft !== '') terminal.write(draft)
    })
  return { ask, close: () => undefined }
}

function pipeReader({ stdin }: Io): LineReader {
  let opened: { readonly reader: Interface; readonly lines: AsyncIterator<string> } | undefined
  const open = (): NonNullable<typeof opened> => {
    const reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
    return { reader, lines: reader[Symbol.asyncIterator]() }
  }
  return {
    ask: async () => {
      opened ??= open()
      const next = await opened.lines.next()
      return next.done === true ? { type: 'end' } : { type: 'line', text: next.value }
    },
    close: () => opened?.reader.close(),
  }
}

/** Dresses text for a terminal; leaves it alone everywhere else. */
export interface Style {
  dim(text: string): string
  bold(text: string): string
  good(text: string): string
  bad(text: string): string
}

/** Colours when the stream is a terminal and `NO_COLOR` is not set. */
export function styleFor(stream: Output, env: Io['env']): Style {
  const plain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== ''
  const dress = (format: 'dim' | 'bold' | 'green' | 'red') => (text: string) =>
    plain ? text : styleText(format, text, { validateStream: false })
  return { dim: dress('dim'), bold: dress('bold'), good: dress('green'), bad: dress('red') }
}
