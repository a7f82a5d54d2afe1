import type { ParamKind, ParamWords } from './param-problem.ts'
import type { RequestProblem } from './request-problem.ts'

const expectations: Readonly<Record<ParamKind, string>> = {
  string: 'a valid string',
  number: 'a valid number',
  integer: 'a valid integer',
  boolean: 'a valid boolean',
  array: 'a valid list',
  object: 'a valid dictionary',
}

/** How Anthropic words what is wrong with a parameter. */
export const anthropicWords: ParamWords = {
  nullable: false,
  unknown: (name) => ({ message: `${name}: Extra inputs are not permitted` }),
  wrongKind: (name, [expected = 'object']) => ({
    message: `${name}: Input should be ${expectations[expected]}`,
  }),
}

/** A member that has to be there. */
export function required(place: string): RequestProblem {
  return { message: `${place}: Field required` }
}

/** A string that has to match a pattern. */
export function patternProblem(
  place: string,
  value: unknown,
  pattern: RegExp,
): RequestProblem | undefined {
  if (value === undefined) return required(place)
  if (typeof value === 'string' && pattern.test(value)) return undefined
  return { message: `${place}: String should match pattern '${pattern.source}'` }
}
