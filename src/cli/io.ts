import { createInterface, type Interface } from 'node:readline'
import { styleText } from 'node:util'
import type { Clock } from '../core/clock.ts'

/** A stream to write to, which may be a terminal. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A stream to read from, which may be a terminal. */
type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined }

/** Everything that the program uses of its environment. A test passes its own. */
export interface Io {
  /** The arguments after the program's name. */
  readonly argv: readonly string[]
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Adds a listener for Ctrl-C and returns a function that removes it. Without a listener, Ctrl-C ends the program. */
  readonly onInterrupt: (listener: () => void) => () => void
  /** Adds a listener for a signal that asks the program to end, and returns a function that removes it. */
  readonly onSignal?:
    | ((signal: 'SIGTERM' | 'SIGHUP', listener: () => void) => () => void)
    | undefined
  /** Replaces the system clock. */
  readonly clock?: Clock | undefined
  /** Replaces the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

/** Whether input and output are a terminal, so that a person can answer questions. */
export function isInteractive({ stdin, stdout }: Io): boolean {
  return stdin.isTTY === true && stdout.isTTY === true
}

/**
 * Writes text for a person to read. What models and files say goes through here, so everything that could control a terminal
 * is left out, except line breaks, tabs and the formats of `Style`: escape sequences could clear the screen, set the
 * clipboard or hide text, and so could overrides of the writing direction.
 */
export function say(stream: Output, text: string): void {
  stream.write(visible(text))
}

/** Text without control characters. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(controls, (found) => (formats.test(found) ? found : ''))
}

/** JSON text in which control characters are written as escapes, so that it holds the same value. */
export function visibleJson(text: string): string {
  return text.replaceAll(
    /[\u007F-\u009F\u061C\u202A-\u202E\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

// A format of `Style`, or one of: C0 (except tab and line feed), DEL, C1, and the overrides and isolates of the writing direction.
const controls =
  // oxlint-disable-next-line no-control-regex
  /\u001B\[\d+m|[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u202A-\u202E\u2066-\u2069]/g

/** Bold, dim, green, red, and the end of each. */
// oxlint-disable-next-line no-control-regex
const formats = /^\u001B\[(?:1|2|22|31|32|39)m$/

/** The result of waiting for a line. */
type Answer =
  | { readonly type: 'line'; readonly text: string }
  /** Ctrl-C at the prompt. */
  | { readonly type: 'interrupt' }
  /** Ctrl-D, or the end of the input. */
  | { readonly type: 'end' }

/** Reads one line for each `ask`. */
export interface LineReader {
  ask(prompt: string): Promise<Answer>
  close(): void
}

/**
 * A reader of the program's input. At a terminal, lines can be edited, and the arrow keys show earlier lines.
 *
 * The terminal is released between two questions, so that Ctrl-C during a turn is a signal. Lines that arrive together
 * are kept for the next questions.
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
        say(stdout, `${prompt}${waiting}\n`)
        resolve({ type: 'line', text: waiting })
        return
      }
      const terminal = createInterface({ input: stdin, output: stdout, prompt, history })
      const finish = (answer: Answer): void => {
        terminal.off('close', ended)
        draft = answer.type === 'line' ? terminal.line : ''
        // Only a submitted line has ended with a line break.
        if (answer.type !== 'line') stdout.write('\n')
        terminal.close()
        resolve(answer)
      }
      const ended = (): void => finish({ type: 'end' })
      terminal.on('history', (all: string[]) => (history = [...all]))
      terminal.on('line', (line) => {
        lines.push(line)
        // Several lines may arrive in one chunk; the others are for the next questions.
        if (lines.length === 1)
          queueMicrotask(() => finish({ type: 'line', text: lines.shift() ?? '' }))
      })
      terminal.on('SIGINT', () => finish({ type: 'interrupt' }))
      terminal.on('close', ended)
      terminal.prompt()
      // Text that was typed after the last line, and not submitted.
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

/** Formats text for a terminal. Other output is not formatted. */
export interface Style {
  dim(text: string): string
  bold(text: string): string
  good(text: string): string
  bad(text: string): string
}

/** Colours when the stream is a terminal and `NO_COLOR` is not set. */
export function styleFor(stream: Output, env: Io['env']): Style {
  const plain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== ''
  const format = (name: 'dim' | 'bold' | 'green' | 'red') => (text: string) =>
    plain ? text : styleText(name, text, { validateStream: false })
  return { dim: format('dim'), bold: format('bold'), good: format('green'), bad: format('red') }
}
