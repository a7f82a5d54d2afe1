import type { Tool } from '../contracts/tool.ts'
import { isPlainObject, within } from '../schema/checks.ts'
import { schemaIssues } from '../schema/json-schema.ts'
import { plainJson } from './plain-json.ts'
import type { Issue } from '../types/error-data.ts'
import type { JsonObject } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { SchemaIssue, SchemaResult, StandardSchema } from '../types/standard-schema.ts'

/** The arguments that a handler gets, or every problem that they have. */
export type CheckedArguments =
  | { readonly args: JsonObject; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

/**
 * Checks a copy of a call's arguments by the tool's own schema; of a Standard Schema the handler gets what it made of them.
 * Text that is not a JSON object is never taken for `{}`.
 *
 * A promise only where the schema answers by one. Throws what a schema throws.
 */
export function checkArguments(
  call: ToolCall,
  tool: Tool,
): CheckedArguments | Promise<CheckedArguments> {
  const read = readArguments(call)
  if (read.issues !== undefined) return read
  // What a schema or a handler does to its arguments must not change the conversation. The copy of an object is one.
  const args = plainJson(read.args) as JsonObject
  if (tool.input !== undefined) return checkByLibrary(tool.input, args)
  const issues = schemaIssues(tool.schema, args)
  return issues.length > 0 ? { issues } : { args }
}

/** The arguments as the model gave them. An adapter leaves them empty when it could not parse the text. */
function readArguments(call: ToolCall): CheckedArguments {
  const text = call.rawArguments?.trim() ?? ''
  if (text === '' || text === '{}' || hasMember(call.arguments)) return { args: call.arguments }
  try {
    const parsed: unknown = JSON.parse(text)
    return isPlainObject(parsed)
      ? { args: parsed as JsonObject } // What JSON gives is JSON.
      : { issues: [{ path: '', problem: 'they must be a JSON object' }] }
  } catch {
    return { issues: [{ path: '', problem: 'they are not valid JSON; send one JSON object' }] }
  }
}

function hasMember(value: object): boolean {
  for (const _ in value) return true
  return false
}

function checkByLibrary(
  schema: StandardSchema<unknown, JsonObject>,
  args: JsonObject,
): CheckedArguments | Promise<CheckedArguments> {
  const result = schema['~standard'].validate(args)
  return result instanceof Promise ? result.then(fromLibrary) : fromLibrary(result)
}

function fromLibrary(result: SchemaResult<JsonObject>): CheckedArguments {
  return result.issues === undefined
    ? { args: result.value }
    : { issues: result.issues.flatMap((issue) => placed(issue)) }
}

function placed({ message, path = [] }: SchemaIssue): readonly Issue[] {
  let issues: readonly Issue[] = [{ path: '', problem: message }]
  for (const step of path.toReversed()) {
    const key = typeof step === 'object' ? step.key : step
    issues = within(typeof key === 'symbol' ? String(key) : key, issues)
  }
  return issues
}
