import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { isInteractive, lineReader, type Io, type LineReader } from '../../../src/apps/cli/io.ts'

interface Seat {
  readonly reader: LineReader
  readonly keys: PassThrough
  readonly io: Io
}

/** A reader at a terminal that is made of streams. */
function seat(history: readonly string[] = []): Seat {
  const keys = new PassThrough()
  const io: Io = {
    argv: [],
    stdin: Object.assign(keys, { isTTY: true }),
    stdout: Object.assign(new PassThrough().resume(), { isTTY: true, columns: 80 }),
    stderr: new PassThrough(),
    env: {},
    onInterrupt: () => () => undefined,
  }
  const reader = lineReader(io, history)
  onTestFinished(() => reader.close())
  return { reader, keys, io }
}

test('lines that are pasted together are given one by one, and what follows them is not lost', async () => {
  const { reader, keys, io } = seat()
  expect(isInteractive(io)).toBe(true)
  const first = reader.ask('> ')
  keys.write('one\ntwo\nthr')
  expect(await first).toEqual({ type: 'line', text: 'one' })
  expect(await reader.ask('> ')).toEqual({ type: 'line', text: 'two' })
  const third = reader.ask('> ')
  keys.write('ee\n')
  expect(await third).toEqual({ type: 'line', text: 'three' })
})

test('an earlier line comes back with the arrow up', async () => {
  const { reader, keys } = seat()
  const first = reader.ask('> ')
  keys.write('again\r')
  await first
  const second = reader.ask('> ')
  keys.write('\u001B[A\r')
  expect(await second).toEqual({ type: 'line', text: 'again' })
})

test('Ctrl-C and Ctrl-D at the prompt are told apart', async () => {
  const { reader, keys } = seat()
  const interrupted = reader.ask('> ')
  keys.write('half a line\u0003')
  expect(await interrupted).toEqual({ type: 'interrupt' })
  const ended = reader.ask('> ')
  keys.write('\u0004')
  expect(await ended).toEqual({ type: 'end' })
})

test('the end of the input is an end', async () => {
  const { reader, keys } = seat()
  const ended = reader.ask('> ')
  keys.end()
  expect(await ended).toEqual({ type: 'end' })
})

test('pasted lines are one message, and are edited as one line', async () => {
  const { reader, keys } = seat()
  const answer = reader.ask('> ')
  // The marks of a terminal, cut by the ends of chunks.
  keys.write('see: \u001B[20')
  keys.write('0~one\r  two\r\nth\u001B[2Jree\r\u001B[201')
  keys.write('~ and more\r')
  expect(await answer).toEqual({ type: 'line', text: 'see: one\n  two\nth[2Jree and more' })
  const again = reader.ask('> ')
  keys.write('\u001B[A\r')
  expect(await again).toEqual({ type: 'line', text: 'see: one\n  two\nth[2Jree and more' })
})

test('Ctrl-C gets out of a paste that has no end', async () => {
  const { reader, keys } = seat()
  const answer = reader.ask('> ')
  keys.write('\u001B[200~half')
  keys.write('\u0003')
  expect(await answer).toEqual({ type: 'interrupt' })
})

test('a backslash at the end of a line, and Alt-Enter, go on with the message', async () => {
  const { reader, keys } = seat()
  const answer = reader.ask('> ')
  keys.write('one\\\r')
  keys.write('two\u001B\rthree\\\\\r')
  expect(await answer).toEqual({ type: 'line', text: 'one\ntwo\nthree\\\\' })
})

test('Ctrl-C in the middle of a message drops it, Ctrl-D ends it', async () => {
  const { reader, keys } = seat()
  const dropped = reader.ask('> ')
  keys.write('one\\\r')
  keys.write('two\u0003')
  expect(await dropped).toEqual({ type: 'interrupt' })
  const ended = reader.ask('> ')
  keys.write('one\\\r')
  keys.write('\u0004')
  expect(await ended).toEqual({ type: 'line', text: 'one\n' })
})

test('the history begins with earlier messages; the answer to a question of the program is not in it', async () => {
  const { reader, keys } = seat(['first', 'two\nlines\u001B[2J'])
  const yes = reader.askLine('run it? ')
  keys.write('y\\\r')
  expect(await yes).toEqual({ type: 'line', text: 'y\\' })
  const last = reader.ask('> ')
  keys.write('\u001B[A\r')
  expect(await last).toEqual({ type: 'line', text: 'two\nlines[2J' })
  const first = reader.ask('> ')
  keys.write('\u001B[A\u001B[A\r')
  expect(await first).toEqual({ type: 'line', text: 'first' })
})

test('the terminal is told when lines are read, and when not', async () => {
  const { reader, keys, io } = seat()
  let written = ''
  io.stdout.on('data', (chunk) => (written += String(chunk)))
  const answer = reader.ask('> ')
  keys.write('a\r')
  await answer
  expect(written.startsWith('\u001B[?2004h')).toBe(true)
  expect(written).toContain('\u001B[?2004l')
  expect(keys.isPaused()).toBe(true)
})
