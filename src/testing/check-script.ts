import { fine, isPlainObject, join, within } from '../schema/checks.ts'
import { checkEntry } from './check-entry.ts'
import { vocabularyOf } from './vocabulary.ts'
import type { Issue } from '../types/error-data.ts'

/** The problems of one call's script: those of its entries, and then those of the entries together. */
export function checkScript(script: readonly unknown[]): readonly Issue[] {
  let issues = fine
  for (let index = 0; index < script.length; index++) {
    issues = join(issues, within(index, checkEntry(script[index])))
  }
  if (issues.length > 0) return issues
  // Every entry has passed its own check.
  const entries = script as readonly (readonly unknown[])[]
  const mixed = mixedVocabularies(entries)
  return mixed.length > 0 ? mixed : join(checkEnds(entries), checkCalls(entries))
}

/** The first entry that belongs to one vocabulary decides for the whole script. */
function mixedVocabularies(entries: readonly (readonly unknown[])[]): readonly Issue[] {
  let first: readonly unknown[] | undefined
  for (const [index, entry] of entries.entries()) {
    const vocabulary = vocabularyOf(entry)
    if (vocabulary === 'shared') continue
    first ??= entry
    if (vocabulary === vocabularyOf(first)) continue
    const problem = `mixes two vocabularies: ${named(entry)} can not stand in a script with ${named(first)}`
    return within(index, [{ path: '', problem }])
  }
  return fine
}

function named(entry: readonly unknown[]): string {
  const of = vocabularyOf(entry) === 'harness' ? 'of harness scripts' : 'of scripts'
  return `${String(entry[0])} (${of})`
}

/** What ends a call is its last entry; what fails before the first event, and what is a whole call, is its only one. */
function checkEnds(entries: readonly (readonly unknown[])[]): readonly Issue[] {
  for (const [index, [tag]] of entries.entries()) {
    if (tag === 'finish' && index < entries.length - 1) {
      return within(index + 1, [{ path: '', problem: 'comes after finish, which ends the call' }])
    }
    if (tag === 'ok' && entries.length > 1) {
      const problem = 'is a whole call and stands alone; a list for each call goes into scripts'
      return within(index, [{ path: '', problem }])
    }
    if (tag === 'preflight_error' && index > 0) {
      const problem =
        'happens before the first event, so it comes first; later failures are error_event'
      return within(index, [{ path: '', problem }])
    }
  }
  return fine
}

/** A call is completed once, and nothing is added to it later. */
function checkCalls(entries: readonly (readonly unknown[])[]): readonly Issue[] {
  const completed = new Set<unknown>()
  let issues = fine
  for (const [index, [tag, call]] of entries.entries()) {
    if ((tag !== 'tool_call' && tag !== 'tool_call_delta') || !isPlainObject(call)) continue
    const { id } = call
    if (completed.has(id)) {
      const problem = `comes after the call ${String(id)} was completed; ids are unique within one call`
      issues = join(issues, within(index, [{ path: '', problem }]))
    }
    if (tag === 'tool_call') completed.add(id)
  }
  return issues
}
