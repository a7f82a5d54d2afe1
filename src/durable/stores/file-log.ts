import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, parseJson } from '../../core/types/guards.ts'
import type { SessionCommand } from '../../core/types/session.ts'
import {
  damagedLog,
  fileMode,
  found,
  readable,
  readBytes,
  writeBytes,
  type Disk,
  type Entry,
  type OpenFile,
} from './file-disk.ts'
import type { FileRecord, Segment } from './file-record.ts'
import type { CommandEntry, LogEntry, ReadEventsOptions } from './run-store.ts'

/**
 * A line of a log: what one write has added to it, the commands before the events. A write of many events has several lines, so that a page of
 * them is read without the others. Lines are in the order of their numbers.
 *
 *     {"event":12,"command":3,"at":1730000000000,"events":[…]}
 */
interface LogLine {
  /** The number of the last event before this line. The first member, so that a search need not parse a line. */
  readonly event: number
  /** The number of the last command before this line. */
  readonly command: number
  readonly at: number
  readonly commands?: readonly SessionCommand[]
  /** Why the commands were not applied. */
  readonly refused?: ErrorData
  readonly events?: readonly StreamEvent[]
}

/** What one write adds, with its values as JSON. */
export interface NewLine {
  readonly event: number
  readonly command: number
  readonly at: number
  readonly commands: readonly string[]
  readonly refused: string | undefined
  readonly events: readonly string[]
}

/** Where a write puts its files. */
export interface Destination {
  readonly folder: string
  readonly entry: Entry
  /** The files that it has made. */
  readonly made: string[]
}

/** The size at which a store begins another file. */
const largestLog = 1_048_576

/** The length at which a write begins another line. */
const longLine = 16_384

/** Shorter parts are copied when a file is begun. */
const smallPart = 8192

/**
 * Writes a line behind the last one that counts, and counts it in the record. The file of another store is never changed: a file is
 * begun then, which also takes up the last parts of the log as long as each is not larger than those after it. So there
 * are few parts, and a line is copied as often as the log doubles. A part that is damaged or lost is left as it is: its readers
 * are told, and the session goes on. If another process removed the part, there is a newer entry, and this write fails later. Returns
 * `false` if another process removed the folder.
 */
export async function appendLine(
  disk: Disk,
  { folder, entry, made }: Destination,
  record: FileRecord,
  line: NewLine,
): Promise<boolean> {
  const bytes = new TextEncoder().encode(linesOf(line).map(lineText).join(''))
  const end = {
    event: line.event + line.events.length,
    command: line.command + line.commands.length,
    at: line.at,
  }
  const last = record.log.at(-1)
  if (last !== undefined && isOwn(disk, last.file) && last.to < largestLog) {
    const path = `${folder}/${last.file}`
    if (await withFile(disk, path, ({ file }) => writeBytes(file, bytes, last.to), 'r+')) {
      record.log = [...record.log.slice(0, -1), { ...last, ...end, to: last.to + bytes.length }]
      return true
    }
  }
  const parts: Uint8Array[] = []
  for (const { file, from, to } of lastParts(record.log)) {
    const part = await withFile(disk, `${folder}/${file}`, (opened) =>
      readable(readBytes(opened, from, to - from)),
    )
    if (part !== undefined && isWhole(part)) parts.push(part)
    // Only what comes after it is copied.
    else parts.length = 0
  }
  const content = joined([...parts, bytes])
  const file = `${entry.number}.${entry.life}.${disk.writer}.log`
  made.push(file)
  const path = `${folder}/${file}`
  if (!(await withFile(disk, path, (own) => writeBytes(own.file, content, 0), 'w'))) return false
  const kept = record.log.slice(0, record.log.length - parts.length)
  record.log = [...kept, { file, from: 0, to: content.length, ...end }]
  return true
}

/** Whether bytes may be lines. After a power loss there may be zeros, which JSON never has. */
function isWhole(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && (bytes.length === 0 || bytes.at(-1) === 10)
}

/** The lines of a write. The commands are in the first one: they were applied before the events came. */
function linesOf(written: NewLine): readonly NewLine[] {
  const lines: NewLine[] = []
  let first = 0
  let size = 0
  const end = (at: number): void => {
    const [event, events] = [written.event + first, written.events.slice(first, at)]
    const isFirst = lines.length === 0
    const command = isFirst ? written.command : written.command + written.commands.length
    lines.push({ ...written, event, events, command, commands: isFirst ? written.commands : [] })
    first = at
    size = 0
  }
  for (const [at, { length }] of written.events.entries()) {
    if (at > first && size + length > longLine) end(at)
    size += length
  }
  end(written.events.length)
  return lines
}

function lineText({ event, command, at, commands, refused, events }: NewLine): string {
  const members = [
    `"event":${event}`,
    `"command":${command}`,
    `"at":${at}`,
    ...(commands.length > 0 ? [`"commands":[${commands.join(',')}]`] : []),
    ...(commands.length > 0 && refused !== undefined ? [`"refused":${refused}`] : []),
    ...(events.length > 0 ? [`"events":[${events.join(',')}]`] : []),
  ]
  return `{${members.join(',')}}\n`
}

function isOwn({ writer }: Disk, file: string): boolean {
  return file.endsWith(`.${writer}.log`)
}

function lastParts(log: readonly Segment[]): readonly Segment[] {
  let size = smallPart
  let start = log.length
  for (const { from, to } of log.toReversed()) {
    if (to - from > Math.min(size, largestLog)) break
    size += to - from
    start--
  }
  return log.slice(start)
}

/** Entries of the log, or `undefined` if another process removed a file, since there is a newer entry. */
export async function readEntries(
  disk: Disk,
  folder: string,
  record: FileRecord,
  options: ReadEventsOptions,
): Promise<readonly LogEntry[] | undefined> {
  const { after = 0, afterCommand, commands = false, limit } = options
  const most = limit ?? Number.POSITIVE_INFINITY
  const entries: LogEntry[] = []
  // Whether everything before a place in the log is known.
  const knows = (event: number, command: number): boolean => {
    if (!commands) return event <= after
    return afterCommand === undefined ? event < after : event <= after && command <= afterCommand
  }
  for (const part of record.log) {
    if (knows(part.event, part.command)) continue
    if (entries.length >= most) break
    const read = await withFile(disk, `${folder}/${part.file}`, async (opened) => {
      const start = await seek(opened, part, knows)
      await eachLine(opened, start, part.to, (line) => {
        const isNew = afterCommand === undefined ? line.event >= after : true
        const found = entriesOf(line).filter((entry) =>
          'event' in entry ? entry.id > after : commands && isNew && entry.id > (afterCommand ?? 0),
        )
        entries.push(...found.slice(0, most - entries.length))
        return entries.length < most
      })
      return true
    })
    if (read === undefined) return undefined
  }
  return entries
}

function entriesOf({ event, command, at, commands = [], refused, events = [] }: LogLine) {
  return [
    ...commands.map((given, index) =>
      defined<CommandEntry>({ id: command + index + 1, at, command: given, refused }),
    ),
    ...events.map((given, index): LogEntry => ({ id: event + index + 1, at, event: given })),
  ]
}

/** Searches are as exact as this: reading goes on from there. */
const chunkSize = 65_536

/** Where to begin reading: a line before which everything is known. */
async function seek(
  opened: OpenFile,
  { from, to }: Segment,
  knows: (event: number, command: number) => boolean,
): Promise<number> {
  let [low, high] = [from, to]
  while (high - low > chunkSize) {
    const middle = Math.floor((low + high) / 2)
    const line = await lineAfter(opened, middle, high)
    if (line !== undefined && knows(line.event, line.command)) low = line.start
    else high = middle
  }
  return low
}

/** The first line that begins after a position, and before another. */
async function lineAfter(
  opened: OpenFile,
  position: number,
  end: number,
): Promise<{ start: number; event: number; command: number } | undefined> {
  for (let size = 1024; ; size *= 4) {
    const length = Math.min(size, end - position)
    const bytes = await readBytes(opened, position, length)
    const start = bytes.indexOf(10) + 1
    const isLast = length === end - position
    if (start > 0) {
      const head = new TextDecoder().decode(bytes.subarray(start, start + 100))
      const [, event, command] = /^\{"event":(\d+),"command":(\d+),/.exec(head) ?? []
      if (event !== undefined) {
        return { start: position + start, event: Number(event), command: Number(command) }
      }
    }
    if (isLast) return undefined
  }
}

/** Reads lines until `visit` returns `false`. */
async function eachLine(
  opened: OpenFile,
  from: number,
  to: number,
  visit: (line: LogLine, end: number) => boolean,
): Promise<void> {
  let rest: Uint8Array = new Uint8Array()
  for (let position = from; position < to;) {
    // A long line is read in growing pieces, so that its bytes are not copied again and again.
    const length = Math.min(Math.max(chunkSize, rest.length), to - position)
    const bytes = joined([rest, await readBytes(opened, position, length)])
    const start = position - rest.length
    position += length
    let begin = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, begin)) {
      const line = parseLine(opened.path, new TextDecoder().decode(bytes.subarray(begin, end)))
      begin = end + 1
      if (!visit(line, start + begin)) return
    }
    rest = bytes.subarray(begin)
  }
  // The bytes that count are whole lines.
  if (rest.length > 0) throw foreignLine(opened.path)
}

function parseLine(path: string, text: string): LogLine {
  const line = parseJson(text) as Partial<LogLine> | null | undefined // Checked below, as far as it is needed.
  if (typeof line?.event === 'number' && typeof line.command === 'number') return line as LogLine
  throw foreignLine(path)
}

function foreignLine(path: string): Error {
  return damagedLog(path, 'has a line that fileStore did not write')
}

/** The number of the last event that is older than a time; `undefined` if another process removed a file. */
export async function lastEventBefore(
  disk: Disk,
  folder: string,
  record: FileRecord,
  before: number,
): Promise<number | undefined> {
  if (record.lastEventAt < before) return record.lastEventId
  let last = 0
  for (const part of record.log) {
    if (part.at < before) {
      last = part.event
      continue
    }
    const read = await withFile(disk, `${folder}/${part.file}`, async (opened) => {
      await eachLine(opened, part.from, part.to, (line) => {
        if (line.at >= before) return false
        last = line.event + (line.events?.length ?? 0)
        return true
      })
      return true
    })
    return read === undefined ? undefined : last
  }
  return last
}

/**
 * Removes the lines from the beginning of the log whose events are not above `event` and that are older than `before`. Returns
 * whether there are any; `undefined` if another process removed a file.
 */
export async function cutLog(
  disk: Disk,
  folder: string,
  record: FileRecord,
  { event, before }: { readonly event: number; readonly before: number },
): Promise<boolean | undefined> {
  const kept = record.log.findIndex((part) => part.event > event || part.at >= before)
  const log = kept < 0 ? [] : record.log.slice(kept)
  const [first, ...others] = log
  let from = first?.from ?? 0
  if (first !== undefined) {
    const read = await withFile(disk, `${folder}/${first.file}`, async (opened) => {
      await eachLine(opened, first.from, first.to, (line, end) => {
        const isOld = line.event + (line.events?.length ?? 0) <= event && line.at < before
        if (isOld) from = end
        return isOld
      })
      return true
    })
    if (read === undefined) return undefined
  }
  const isCut = log.length < record.log.length || from !== (first?.from ?? 0)
  record.log = first === undefined ? [] : [{ ...first, from }, ...others]
  return isCut
}

async function withFile<T>(
  { files }: Disk,
  path: string,
  work: (opened: OpenFile) => Promise<T>,
  flags: 'r' | 'r+' | 'w' = 'r',
): Promise<T | undefined> {
  const file = await found(files.open(path, flags, fileMode))
  if (file === undefined) return undefined
  try {
    return await work({ file, path })
  } finally {
    await file.close()
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return only
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
