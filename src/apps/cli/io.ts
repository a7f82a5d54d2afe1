import { createInterface, type Interface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { styleText } from 'node:util'
import type { Clock } from '../../core/base/clock.ts'

/** A stream to write to, which may be a terminal. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A stream to read from, which may be a terminal. */
type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean | undefined
  readonly setRawMode?: ((isRaw: boolean) => unknown) | undefined
}

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
  /** Calls back every second until the returned function is called, for progress lines. Replaces a timer. */
  readonly everySecond?: ((onSecond: () => void) => () => void) | undefined
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
  stream.write(withoutControls(text, formats))
}

/** Text of somebody else, without control characters. Formats of `Style` are not its own, so they are left out, too. */
export function visible(text: string): string {
  return withoutControls(text)
}

/** The same in one line, for names and titles: a line break could pretend to be a line of the program. */
export function visibleLine(text: string): string {
  return visible(text)
    .replaceAll(/[\s\u2028\u2029]+/g, ' ')
    .trim()
}

function withoutControls(text: string, except?: RegExp): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(controls, (found) => (except?.test(found) === true ? found : ''))
}

/** JSON text in which control characters are written as escapes, so that it holds the same value. */
export function visibleJson(text: string): string {
  return text.replaceAll(
    /[\u007F-\u009F\u061C\u202A-\u202E\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The columns that a text takes. Characters of East Asian scripts, and emoji, take two. */
export function textWidth(text: string): number {
  let width = 0
  for (const char of text) width += char >= '\u1100' && char !== '…' && char !== '→' ? 2 : 1
  return width
}

/** The columns of a stream, if it is a terminal. */
export function columnsOf({ isTTY, columns }: Output): number | undefined {
  return isTTY === true ? columns || undefined : undefined
}

// A format of `Style`, or one of: C0 (except tab and line feed), DEL, C1, and the overrides and isolates of the writing direction.
const controls =
  // oxlint-disable-next-line no-control-regex
  /\u001B\[\d+m|[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u202A-\u202E\u2066-\u2069]/g

/** Bold, dim, green, red, and the end of each. */
// oxlint-disable-next-line no-control-regex
const formats = /^\u001B\[(?:1|2|22|31|32|39)m$/

/** The result of waiting for a message. */
type Answer =
  | { readonly type: 'line'; readonly text: string }
  /** Ctrl-C at the prompt. */
  | { readonly type: 'interrupt' }
  /** Ctrl-D, or the end of the input. */
  | { readonly type: 'end' }

/** Reads what the user says. */
export interface LineReader {
  /** One message. A line that ends with a backslash goes on in the next line. */
  ask(prompt: string): Promise<Answer>
  /** One line, as the answer to a question of the program. It is not among the earlier lines. */
  askLine(prompt: string): Promise<Answer>
  close(): void
}

/**
 * A reader of the program's input. At a terminal, lines can be edited, and the arrow keys show earlier messages: those of
 * `history`, the oldest first, and those of this reader. Pasted lines are one message; Alt-Enter begins a line of it.
 *
 * The terminal is released between two questions, so that Ctrl-C during a turn is a signal. Lines that arrive together
 * are kept for the next questions.
 */
export function lineReader(io: Io, history: readonly string[] = []): LineReader {
  const { read, close } = isInteractive(io) ? terminalLines(io) : pipedLines(io)
  const earlier = history.map((text) => marked(text.trim())).toReversed()
  const ask = async (prompt: string): Promise<Answer> => {
    let text = ''
    for (;;) {
      const answer = await read(text === '' ? prompt : '… ', earlier)
      if (answer.type === 'interrupt') return answer
      // The end in the middle of a message ends the message.
      if (answer.type === 'end' && text === '') return answer
      const line = answer.type === 'end' ? '' : answer.text
      text += line
      if (!isContinued(line)) break
      text = `${text.slice(0, -1)}\n`
    }
    const entry = marked(text.trim())
    if (entry !== '' && entry !== earlier[0]) earlier.unshift(entry)
    earlier.splice(historySize)
    return { type: 'line', text }
  }
  return { ask, askLine: (prompt) => read(prompt, []), close }
}

/** The number of messages that the arrow keys reach. */
const historySize = 500

/** Whether a line ends with a backslash that is not itself behind one. */
function isContinued(line: string): boolean {
  return (/\\+$/.exec(line)?.[0].length ?? 0) % 2 === 1
}

/** The line editor has one line: a line break is shown as this character while a message is edited. */
const lineMark = '⏎'

function marked(text: string): string {
  return visible(text).replaceAll('\n', lineMark)
}

/** Reads one line after another. `history` has the newest line first. */
interface Lines {
  readonly read: (prompt: string, history: readonly string[]) => Promise<Answer>
  readonly close: () => void
}

function terminalLines({ stdin, stdout, env }: Io): Lines {
  const lines: string[] = []
  let draft = ''
  /** Ctrl-D came behind lines that were not read yet. */
  let isEnding = false
  // The editor reads the keys from a stream of its own, in which pastes have no line ends.
  const keys = Object.assign(new PassThrough(), {
    setRawMode: (isRaw: boolean) => void stdin.setRawMode?.(isRaw),
  })
  const filter = keyFilter()
  const press = (chunk: Buffer | string): void => void keys.write(filter(chunk))
  stdin.once('end', () => keys.end())
  const pasteMode = (isOn: boolean): void => {
    if (env['TERM'] !== 'dumb') stdout.write(`\u001B[?2004${isOn ? 'h' : 'l'}`)
  }
  const read = (prompt: string, history: readonly string[]): Promise<Answer> =>
    new Promise((resolve) => {
      const waiting = lines.shift()
      if (waiting !== undefined) {
        say(stdout, `${prompt}${waiting}\n`)
        resolve({ type: 'line', text: waiting })
        return
      }
      if (keys.readableEnded || isEnding) {
        isEnding = false
        resolve({ type: 'end' })
        return
      }
      const terminal = createInterface({
        input: keys,
        output: stdout,
        terminal: true,
        prompt,
        history: [...history],
        historySize: historySize + 1,
      })
      let isOver = false
      const finish = (answer: Answer): void => {
        if (isOver) return
        isOver = true
        terminal.off('close', ended)
        draft = answer.type === 'line' ? terminal.line : ''
        stdin.off('data', press)
        stdin.pause()
        pasteMode(false)
        // Only a submitted line has ended with a line break.
        if (answer.type !== 'line') stdout.write('\n')
        terminal.close()
        resolve(answer)
      }
      const ended = (): void => {
        if (lines.length === 0) finish({ type: 'end' })
        else isEnding = true
      }
      terminal.on('line', (line) => {
        lines.push(line.replaceAll(lineMark, '\n'))
        // Several lines may arrive in one chunk; the others are for the next questions.
        if (lines.length === 1)
          queueMicrotask(() => finish({ type: 'line', text: lines.shift() ?? '' }))
      })
      terminal.on('SIGINT', () => {
        lines.length = 0
        finish({ type: 'interrupt' })
      })
      terminal.on('close', ended)
      stdin.on('data', press)
      stdin.resume()
      pasteMode(true)
      terminal.prompt()
      // Text that was typed after the last line, and not submitted.
      if (draft !== '') terminal.write(draft)
    })
  return { read, close: () => undefined }
}

/** The marks of a terminal around pasted text, and how Alt-Enter arrives. */
const [pasteStart, pasteEnd, altEnter] = ['\u001B[200~', '\u001B[201~', '\u001B\r']

/** Replaces the line breaks of pasted text, and Alt-Enter, by `lineMark`. A paste is given when all of it is there. */
function keyFilter(): (chunk: Buffer | string) => string {
  const decoder = new StringDecoder('utf8')
  let held = ''
  return (chunk) => {
    let rest = held + (typeof chunk === 'string' ? chunk : decoder.write(chunk))
    let typed = ''
    for (;;) {
      const start = rest.indexOf(pasteStart)
      if (start === -1) break
      const from = start + pasteStart.length
      const end = rest.indexOf(pasteEnd, from)
      const interrupt = rest.indexOf('\u0003', from)
      typed += rest.slice(0, start)
      if (interrupt !== -1 && (end === -1 || interrupt < end)) {
        // Ctrl-C ends a paste whose end does not come.
        rest = rest.slice(interrupt)
      } else if (end === -1) {
        held = rest.slice(start)
        return typed.replaceAll(altEnter, lineMark)
      } else {
        typed += marked(rest.slice(from, end).replaceAll(/\r\n?/g, '\n').replace(/\n+$/, ''))
        rest = rest.slice(end + pasteEnd.length)
      }
    }
    // The first mark may be cut by the end of a chunk.
    // oxlint-disable-next-line no-control-regex
    held = /\u001B\[(?:20{0,2})?$/.exec(rest)?.[0] ?? ''
    typed += held === '' ? rest : rest.slice(0, -held.length)
    return typed.replaceAll(altEnter, lineMark)
  }
}

function pipedLines({ stdin }: Io): Lines {
  let opened: { readonly reader: Interface; readonly lines: AsyncIterator<string> } | undefined
  const open = (): NonNullable<typeof opened> => {
    const reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
    return { reader, lines: reader[Symbol.asyncIterator]() }
  }
  return {
    read: async () => {
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
