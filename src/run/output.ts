import type { FormatOption } from '../contracts/options.ts'
import { ValidationError } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import type { PartialResult } from '../types/results.ts'
import {
  isStandardSchema,
  type SchemaIssue,
  type SchemaOutput,
  type StandardSchema,
} from '../types/standard-schema.ts'

/** Added to a result whose format is a schema: the validated, typed answer. */
export type WithOutput<Format> = Format extends StandardSchema
  ? { readonly output: SchemaOutput<Format> }
  : unknown

/** The schema of a format, if it is one. Only a schema validates. */
export function outputSchema(format: FormatOption | undefined): StandardSchema | undefined {
  return isStandardSchema(format) ? format : undefined
}

/** The validated answer. A text that is not JSON or does not match the schema throws a `ValidationError` with the result. */
export async function parseOutput(
  schema: StandardSchema,
  text: string,
  partial: PartialResult,
): Promise<unknown> {
  const result = await schema['~standard'].validate(parseJson(text, partial))
  if (result.issues === undefined) return result.value
  throw new ValidationError('invalid_output', result.issues.map(toIssue), { partial })
}

function parseJson(text: string, partial: PartialResult): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const problem =
      text === '' ? 'the answer has no text' : `the answer is not JSON: ${text.slice(0, 80)}`
    throw new ValidationError('invalid_output', [{ path: '', problem }], { partial, cause })
  }
}

function toIssue({ path, message }: SchemaIssue): Issue {
  let place = ''
  for (const segment of path ?? []) {
    const key = typeof segment === 'object' ? segment.key : segment
    if (typeof key === 'number') place += `[${key}]`
    else place += place === '' ? String(key) : `.${String(key)}`
  }
  return { path: place, problem: message }
}
