import { ValidationError } from '../errors/errors.ts'
import type { Script } from './script-entry.ts'
import { unknownTag, vocabularyOf, type ScriptShape } from './vocabulary.ts'

/**
 * Tells which vocabulary a script is written in, by its first entry alone, and gives the script back beside it.
 *
 * Tags that both vocabularies have, and the empty script, count as `spec31`. A first tag that neither has throws a
 * `ValidationError` that names both vocabularies.
 */
export function detectShape(script: Script): readonly [ScriptShape, Script] {
  const first = script[0]
  if (first === undefined) return ['spec31', script]
  const vocabulary = vocabularyOf(first)
  if (vocabulary === undefined) {
    throw new ValidationError('invalid_script', [{ path: '[0]', problem: unknownTag(first[0]) }])
  }
  return [vocabulary === 'harness' ? 'harness' : 'spec31', script]
}
