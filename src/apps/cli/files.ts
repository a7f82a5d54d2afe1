import { writeFileSync } from 'node:fs'
import { access, constants, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { isAllmError } from '../../core/errors/errors.ts'
import { isObject, parseJson } from '../../core/types/guards.ts'
import {
  baseSessionFile,
  newestSessionFile,
  storedSessionText,
} from '../../durable/stores/file-folder.ts'
import { Session } from '../../engine/session/session.ts'
import { parseCassette, type Cassette } from '../../testing/fakes/cassette.ts'
import { isFlat, validateScript } from '../../testing/fakes/check-script.ts'
import type { Script } from '../../testing/fakes/script.ts'
import { failure, usageError, type CliError } from './command.ts'
import type { Io } from './io.ts'

/** The content of a script file: the scripts, and any other options. */
interface ScriptFile {
  /** One list for each call. */
  readonly scripts: readonly Script[]
  readonly rest: Readonly<Record<string, unknown>>
}

/**
 * Reads a script file: a list of entries (one call), a list of such lists (one for each call), or an object that has
 * either as `script` or `scripts`.
 */
export async function readScriptFile(path: string, io: Io): Promise<ScriptFile> {
  const value = await readJsonFile(path, io, 'a script')
  const { script, scripts, ...rest } = isObject(value) ? value : listsOf(value)
  try {
    // validateScript accepts any value and reports its problems.
    validateScript({ script, scripts } as Parameters<typeof validateScript>[0])
  } catch (error) {
    throw usageError(
      `${nameOf(path)}: ${isAllmError(error) ? error.message : String(error)}`,
      error,
    )
  }
  if (script === undefined && scripts === undefined) {
    throw otherKind(
      path,
      value,
      'a script',
      ' has neither script nor scripts; see npx allm-ts run --help',
    )
  }
  // validateScript has checked them.
  return { scripts: script === undefined ? (scripts as Script[]) : [script as Script], rest }
}

/** The cassette in a file, or on stdin when the path is `-`. */
export async function readCassette(path: string, io: Io): Promise<Cassette> {
  const value = await readJsonFile(path, io, 'a cassette')
  try {
    return parseCassette(value)
  } catch (error) {
    const problem = isAllmError(error) ? error.message : String(error)
    throw otherKind(path, value, 'a cassette', `: ${problem}`)
  }
}

/** What a file of this program can be, and what to do with it. */
const kinds = {
  'a script': 'npx allm-ts run plays it',
  'a cassette': 'npx allm-ts replay serves it',
  'a session': 'npx allm-ts chat --session continues it',
} as const

/** The error about a file that was read and is not what it should be: what it is instead, or its problem. */
function otherKind(path: string, value: unknown, wanted: string, problem: string): CliError {
  const kind = kindOf(value)
  return kind === undefined || kind === wanted
    ? usageError(`${nameOf(path)}${problem}`)
    : usageError(`${nameOf(path)} is ${kind}, not ${wanted}; ${kinds[kind]}`)
}

function kindOf(value: unknown): keyof typeof kinds | undefined {
  if (!isObject(value)) return Array.isArray(value) ? 'a script' : undefined
  if (Array.isArray(value['calls'])) return 'a cassette'
  if (isObject(value['thread'])) return 'a session'
  return Array.isArray(value['script'] ?? value['scripts']) ? 'a script' : undefined
}

function listsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isFlat(value) ? { script: value } : { scripts: value }
}

/** The session in a file, or `undefined` if there is no such file. It also reads the files and folders of `fileStore`. */
export async function readSession(path: string): Promise<Session | undefined> {
  let text: string
  try {
    text = await readSessionFile(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw usageError(`cannot read ${path}: ${readReason(error)}; name the file of a session`, error)
  }
  try {
    return Session.parse(storedSessionText(text))
  } catch (error) {
    const problem = isAllmError(error) ? error.message : readReason(error)
    throw otherKind(path, parseJson(text), 'a session', `: ${problem}`)
  }
}

/** Writes the session to a file, as `writeTextFile` does. */
export async function writeSession(path: string, session: Session): Promise<void> {
  await writeTextFile(path, `${Session.stringify(session)}\n`, 'save the session to')
}

/** Writes to the first of several names that no file has, beginning with number 1, and returns the name. The file is for its owner only. */
export function writeNewFile(name: (number: number) => string, bytes: Uint8Array): string {
  for (let number = 1; ; number++) {
    try {
      writeFileSync(name(number), bytes, { flag: 'wx', mode: 0o600 })
      return name(number)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw new Error(readReason(error), { cause: error })
    }
  }
}

/**
 * Writes a text to a new file and renames it, so that a crash leaves the old file intact. What this program writes has words of
 * conversations: a file that did not exist is for its owner only, and one that did keeps its permissions.
 */
export async function writeTextFile(
  path: string,
  text: string,
  verb: string = 'write',
): Promise<void> {
  const next = `${path}.${process.pid}.new`
  const mode = ((await stat(path).catch(() => undefined))?.mode ?? 0o600) & 0o777
  try {
    const file = await open(next, 'w', mode)
    try {
      await file.chmod(mode)
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, path)
  } catch (error) {
    await rm(next, { force: true })
    throw failure(`cannot ${verb} ${path}: ${readReason(error)}`, error)
  }
}

/** Throws unless the folder of a file that will be written exists and may be written to. */
export async function assertFolder(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK)
  } catch (error) {
    const why = isMissing(error) ? 'there is no such folder; make it first' : readReason(error)
    throw usageError(`cannot write ${path}: ${why}`, error)
  }
}

/** The text of a file; in a folder of `fileStore`, that of the file with the session. */
async function readSessionFile(path: string): Promise<string> {
  const names = await readdir(path).catch(() => [])
  const newest = newestSessionFile(names)
  const text = await readFile(newest === undefined ? path : join(path, newest), 'utf8')
  const base = newest === undefined ? undefined : baseSessionFile(text)
  return base === undefined ? text : readFile(join(path, base), 'utf8')
}

/** The JSON of a file, or of stdin when the path is `-`. `wanted` is what the file should be, for messages. */
export async function readJsonFile(path: string, io: Io, wanted: string): Promise<unknown> {
  const text = path === '-' ? await readStdin(io) : await readTextFile(path, wanted)
  try {
    return JSON.parse(text)
  } catch (error) {
    const problem = text.trim() === '' ? 'it is empty' : `it is not JSON: ${readReason(error)}`
    throw usageError(`${nameOf(path)} is not ${wanted}: ${problem}`, error)
  }
}

/** A person who starts a program that reads stdin has to know that it waits. */
function readStdin({ stdin, stderr }: Io): Promise<string> {
  if (stdin.isTTY === true) stderr.write('reading stdin, until Ctrl-D\n')
  return textOf(stdin)
}

async function readTextFile(path: string, wanted: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw usageError(`cannot read ${path}: ${readReason(error)}; name the file of ${wanted}`, error)
  }
}

/** The name of a path in messages. */
function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}

/** Whether a file does not exist. */
function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** Why a file cannot be read or written. */
function readReason(error: unknown): string {
  const code = codeOf(error)
  const words = code === undefined ? undefined : reasons[code]
  return words ?? (error instanceof Error ? error.message : String(error))
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'file not found',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'the disk is full',
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}
