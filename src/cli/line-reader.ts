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
        terminal.close()
        resolve(answer)
      }
      const ended = (): void => finish({ type: 'end' })
      terminal.on('history', (all: string[]) => (history = [...all]))
      terminal.on('line', (line) => {
        lines.push(line)
        // Several lines may arrive in one piece: the others are for the next questions.
        if (lines.length === 1) queueMicrotask(() => finish({ type: 'line', text: lines.shift() ?? '' }))
      })
      terminal.on('SIGINT', () => finish({ type: 'interrupt' }))
      terminal.on('close', ended)
      terminal.prompt()
    })
  return { ask, close: () => undefined }
}

function pipeReader({ stdin }: Io): LineReader {
  const lines: string[] = []
  let ended = false
  let wake: (() => void) | undefined
  let reader: Interface | undefined
  const open = (): void => {
    reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
    reader.on('line', (line) => {
      lines.push(line)
      wake?.()
    })
    reader.on('close', () => {
      ended = true
      wake?.()
    })
  }
  return {
    ask: async () => {
      if (reader === undefined) open()
      while (lines.length === 0 && !ended) {
        await new Promise<void>((resolve) => (wake = resolve))
      }
      const text = lines.shift()
      return text === undefined ? { type: 'end' } : { type: 'line', text }
    },
    close: () => reader?.close(),
  }
}
