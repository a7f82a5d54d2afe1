import { failure } from './cli-error.ts'
import type { Io } from './io.ts'
import { nameOf, readJsonFile } from './read-json-file.ts'
import { isAllmError } from '../errors/errors.ts'
import { isFlat, validateScript } from '../testing/check-script.ts'
import type { Script } from '../testing/script.ts'

/** What a script file holds: the scripts, and whatever else stands beside them. */
export interface ScriptFile {
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
