import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { isInteractive, lineReader, type Io, type LineReader } from '../../src/cli/io.ts'

interface Seat {
  readonly reader: LineReader
  readonly keys: PassThrough
  readonly io: Io
}

/** A reader at a terminal that is made of streams. */
function seat(): Seat {
  const keys = new PassThrough()
  const io: Io = {
    argv: [],
    stdin: Object.assign(keys, { isTTY: true }),
    stdout: Object.assign(new PassThrough().resume(), { isTTY: true, columns: 80 }),
    stderr: new PassThrough(),
    env: {},
    onInterrupt: () => () => undefined,
  }
  const reader = lineReader(io)
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
