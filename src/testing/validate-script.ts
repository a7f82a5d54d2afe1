import { ValidationError } from '../errors/errors.ts'
import { assertValid, describe, fine, join } from '../schema/checks.ts'
import { checkScript } from './check-script.ts'
import type { ScriptOptions } from './fake-options.ts'
import { memoised } from './memoised.ts'
import { isScriptCursor } from './script-cursor.ts'
import type { Issue } from '../types/error-data.ts'

/**
 * Checks the scripts of a fake's options; `fake` does it when it is made. Returns when all is well.
 *
 * Throws a `ValidationError` `invalid_script`. First, in this order: `script` and `scripts` are not both given, `script` is a
 * list, `scripts` is a list of lists, `streamScript` is one or the other, `scriptCursor` is a cursor. Then every problem of
 * every entry at once, each with its place.
 */
export function validateScript(options: ScriptOptions): void {
  const { script, scripts, streamScript, scriptCursor }: Unchecked = options
  if (script !== undefined && scripts !== undefined) {
    refuse('', 'script and scripts are both given; script is one call, scripts is one list a call')
  }
  if (script !== undefined && !Array.isArray(script)) {
    refuse('script', `must be a list of entries, not ${describe(script)}`)
  }
  if (scripts !== undefined) listOfLists('scripts', scripts)
  if (streamScript !== undefined && !isFlat(streamScript)) listOfLists('streamScript', streamScript)
  if (scriptCursor !== undefined && !isScriptCursor(scriptCursor)) {
    refuse('scriptCursor', `must be made by createScriptCursor(), and is ${describe(scriptCursor)}`)
  }
  const check = memoised(checkScript)
  let issues = fine
  for (const [path, list] of namedScripts(options)) issues = join(issues, at(path, check(list)))
  assertValid('invalid_script', issues)
}

/** What the options may hold before they are checked. */
type Unchecked = { readonly [K in keyof ScriptOptions]?: unknown }

/** Whether a `streamScript` is one call: a list of entries, which begin with their tag. */
export function isFlat(list: unknown): boolean {
  return Array.isArray(list) && list.every((entry) => Array.isArray(entry) && isEntry(entry))
}

function isEntry(entry: readonly unknown[]): boolean {
  return typeof entry[0] === 'string'
}

function listOfLists(path: string, value: unknown): void {
  if (!Array.isArray(value)) refuse(path, `must be a list of lists, not ${describe(value)}`)
  for (const [index, list] of (value as readonly unknown[]).entries()) {
    const place = `${path}[${index}]`
    if (!Array.isArray(list)) refuse(place, `must be a list of entries, not ${describe(list)}`)
    if (isEntry(list as readonly unknown[])) {
      refuse(place, 'is an entry, not a list of entries; one call alone goes into script')
    }
  }
}

function refuse(path: string, problem: string): never {
  throw new ValidationError('invalid_script', [{ path, problem }])
}

function namedScripts(options: ScriptOptions): readonly (readonly [string, readonly unknown[]])[] {
  const { script, scripts = [], streamScript } = options
  const calls: [string, readonly unknown[]][] = script === undefined ? [] : [['script', script]]
  scripts.forEach((list, index) => calls.push([`scripts[${index}]`, list]))
  if (streamScript === undefined) return calls
  if (isFlat(streamScript)) return [...calls, ['streamScript', streamScript]]
  streamScript.forEach((list, index) => calls.push([`streamScript[${index}]`, list]))
  return calls
}

function at(place: string, issues: readonly Issue[]): readonly Issue[] {
  return issues.map(({ path, problem }) => ({ path: place + path, problem }))
}
