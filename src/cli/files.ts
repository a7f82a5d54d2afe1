import { access, constants, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { isAllmError } from '../errors/errors.ts'
import { Session } from '../session/session.ts'
import { baseSessionFile, newestSessionFile, storedSessionText } from '../stores/file-folder.ts'
import { parseCassette, type Cassette } from '../testing/cassette.ts'
import { isFlat, validateScript } from '../testing/check-script.ts'
import type { Script } from '../testing/script.ts'
import { isObject } from '../types/guards.ts'
import { failure } from './command.ts'
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
  const value = await readJsonFile(path, io)
  const { script, scripts, ...rest } = isObject(value) ? value : listsOf(value)
  try {
    // validateScript accepts any value and reports its problems.
    validateScript({ script, scripts } as Parameters<typeof validateScript>[0])
  } catch (error) {
    throw failure(`${nameOf(path)}: ${isAllmError(error) ? error.message : String(error)}`, error)
  }
  if (script === undefined && scripts === undefined) {
    throw failure(`${nameOf(path)} has neither script nor scripts; see allm run --help`)
  }
  // validateScript has checked them.
  return { scripts: script === undefined ? (scripts as Script[]) : [script as Script], rest }
}

/** The cassette in a file, or on stdin when the path is `-`. */
export async function readCassette(path: string, io: Io): Promise<Cassette> {
  const value = await readJsonFile(path, io)
  try {
    return parseCassette(value)
  } catch (error) {
    throw failure(`${nameOf(path)}: ${isAllmError(error) ? error.message : String(error)}`, error)
  }
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
    throw failure(`cannot read ${path}: ${readReason(error)}`, error)
  }
  try {
    return Session.parse(storedSessionText(text))
  } catch (error) {
    throw failure(`${path}: ${isAllmError(error) ? error.message : readReason(error)}`, error)
  }
}

/** Writes the session to a new file and renames it, so that a crash leaves the old file intact. */
export function writeSession(path: string, session: Session): Promise<void> {
  return writeTextFile(path, `${Session.stringify(session)}\n`, 'save the session to')
}

/** Writes a text to a new file and renames it, so that a crash leaves the old file intact. */
export async function writeTextFile(
  path: string,
  text: string,
  verb: string = 'write',
): Promise<void> {
  const next = `${path}.${process.pid}.new`
  try {
    const file = await open(next, 'w')
    try {
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
    const why = isMissing(error) ? 'there is no such folder' : readReason(error)
    throw failure(`cannot write ${path}: ${why}`, error)
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

/** The JSON of a file, or of stdin when the path is `-`. */
export async function readJsonFile(path: string, io: Io): Promise<unknown> {
  const text = path === '-' ? await textOf(io.stdin) : await readTextFile(path)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw failure(`${nameOf(path)} is not JSON: ${readReason(error)}`, error)
  }
}

async function readTextFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw failure(`cannot read ${path}: ${readReason(error)}`, error)
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
