import { createInterface, type Interface } from 'node:readline'
import type { Io } from './io.ts'
import { isInteractive } from './io.ts'

/** What came of waiting for a line. */
export type Answer =
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
