import { open, readFile, rename, rm } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { failure } from './command.ts'
import type { Io } from './io.ts'
import { isAllmError } from '../errors/errors.ts'
import { Session } from '../session/session.ts'
import { isFlat, validateScript } from '../testing/check-script.ts'
import type { Script } from '../testing/script.ts'

/** What a script file holds: the scripts, and whatever else stands beside them. */
interface ScriptFile {
  /** One list a call. */
  readonly scripts: readonly Script[]
  readonly rest: Readonly<Record<string, unknown>>
}

/**
 * Reads a script file: a list of entries (one call), a list of such lists (one a call), or an object that has either as `script`
 * or `scripts`.
 */
export async function readScriptFile(path: string, io: Io): Promise<ScriptFile> {
  const value = await readJsonFile(path, io)
  const { script, scripts, ...rest } = isObject(value) ? value : listsOf(value)
  try {
    // validateScript takes whatever it is given, and says what is wrong with it.
    validateScript({ script, scripts } as Parameters<typeof validateScript>[0])
  } catch (error) {
    throw failure(`${nameOf(path)}: ${isAllmError(error) ? error.message : String(error)}`, error)
  }
  if (script === undefined && scripts === undefined) {
    throw failure(`${nameOf(path)} holds neither script nor scripts; see allm run --help`)
  }
  // Just validated.
  return { scripts: script === undefined ? (scripts as Script[]) : [script as Script], rest }
}

function listsOf(value: unknown): Record<string, unknown> {
  return isFlat(value) ? { script: value } : { scripts: value }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The session of a file; `undefined` when there is no such file. A file of `fileStore` is read as well. */
export async function readSession(path: string): Promise<Session | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw failure(`can not read ${path}: ${readReason(error)}`, error)
  }
  try {
    return Session.parse(sessionText(text))
  } catch (error) {
    throw failure(`${path}: ${isAllmError(error) ? error.message : readReason(error)}`, error)
  }
}

/** Writes the session to a new file and renames it into place: a kill in the middle leaves the old one whole. */
export async function writeSession(path: string, session: Session): Promise<void> {
  const next = `${path}.${process.pid}.new`
  try {
    const file = await open(next, 'w')
    try {
      await file.writeFile(`${Session.stringify(session)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, path)
  } catch (error) {
    await rm(next, { force: true })
    throw failure(`can not save the session to ${path}: ${readReason(error)}`, error)
  }
}

/** A store wraps the session in an object with a version of its own. */
function sessionText(text: string): string {
  const stored = /^\{"version":\d+,"session":([\s\S]*)\}\s*$/.exec(text)?.[1]
  return stored ?? text
}

/** The JSON of a file, or of stdin when the path is `-`. */
async function readJsonFile(path: string, io: Io): Promise<unknown> {
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
    throw failure(`can not read ${path}: ${readReason(error)}`, error)
  }
}

/** A path, for people. */
function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}

/** Whether a file was not there. */
function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** Why a file could not be read or written, in a few words. */
function readReason(error: unknown): string {
  const code = codeOf(error)
  const words = code === undefined ? undefined : reasons[code]
  return words ?? (error instanceof Error ? error.message : String(error))
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be touched',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'the disk is full',
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}
