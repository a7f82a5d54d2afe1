import type { ParamTable } from './param-problem.ts'
import type { RequestProblem } from './request-problem.ts'

/** A name that the message does not have. */
export function unknownName(name: string, at?: string): RequestProblem {
  const place = at === undefined ? '' : ` at '${at}'`
  return {
    message: `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`,
  }
}

/** A value of another kind than the field has. */
export function wrongKind(place: string, actual: string): RequestProblem {
  return { message: `Invalid value at '${snake(place)}' (${actual})` }
}

/** A table by both spellings: Google's reader takes a field's name in camel case and in snake case. */
export function geminiNames(table: ParamTable): ParamTable {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, kinds]) => [
      [name, kinds],
      [snake(name), kinds],
    ]),
  )
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
