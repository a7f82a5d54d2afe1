import type {
  CallOptions,
  BaseOptions,
  FormatOption,
  FormatSetting,
  ToolMode,
  ToolsOption,
} from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { json, refusal } from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { parseWithoutProto } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import {
  isStandardSchema,
  type SchemaIssue,
  type SchemaOutput,
  type StandardSchema,
} from '../../core/types/standard-schema.ts'
import type { ToolTypes } from '../../core/types/tool-types.ts'

/** Added to a result whose format is a schema: the validated, typed answer. A format that may be absent leaves it absent. */
export type WithOutput<Format> = undefined extends Format
  ? Partial<OutputOf<NonNullable<Format>>>
  : OutputOf<Format>

type OutputOf<Format> = [Format] extends [never]
  ? unknown
  : Format extends StandardSchema
    ? { readonly output: SchemaOutput<Format> }
    : unknown

/**
 * The format of a call: its own, or else that of its engine. If its own may be absent, it is one of the two. Of a plain `Engine`, whose format is not known,
 * it is the call's alone.
 */
export type FormatFor<Format, Default> = unknown extends Default
  ? Format
  : [Format] extends [undefined]
    ? Default
    : undefined extends Format
      ? NonNullable<Format> | Default
      : Format

/** The options of a call, with the exact type of its format, and of its tools. */
export type OptionsWith<
  Format,
  Types extends ToolTypes = ToolTypes,
  Added extends readonly Tool[] = readonly Tool[],
  Mode extends ToolMode = ToolMode,
> = BaseOptions & ToolsOption<Types, Added, Mode> & FormatSetting<Format>

/** The same options without those types. The compiler cannot see that a format with its JSON Schema is a `FormatOption`. */
export function plainOptions(options: object | undefined): CallOptions | undefined {
  return options
}

/** The schema of a format, if it is one. Only a schema validates. */
export function outputSchema(format: FormatOption | undefined): StandardSchema | undefined {
  return isStandardSchema(format) ? format : undefined
}

/** Throws if a call asks for repairs of an answer that has no format. An engine may ask for them for the calls that have one. */
export function assertRepairable(repair: number | undefined, format: unknown): void {
  if (!repair || format !== undefined) return
  throw refusal(
    'invalid_options',
    'repair',
    'needs a responseFormat: only such an answer is repaired',
  )
}

/** A validated answer, or what is wrong with it. */
export type CheckedOutput =
  | {
      /** What the schema gave: any value, if the schema transforms. */
      readonly value: unknown
      /** The same as plain data, for events: a `Date` as its text. The answer as the model wrote it, if there is no such form. */
      readonly plain: JsonValue
      readonly error?: undefined
    }
  | {
      readonly error: ValidationError
      /** Whether asking again may help. An answer that was cut or filtered would be so again. */
      readonly repairable: boolean
    }

/**
 * Validates the text of an answer. A text that is not JSON or does not match the schema is an `invalid_output`, whose
 * `metadata.cause` is an `OutputFault`.
 */
export async function checkOutput(
  schema: StandardSchema,
  response: Pick<ModelResponse, 'outputText' | 'finishReason' | 'rawFinishReason' | 'metadata'>,
): Promise<CheckedOutput> {
  const { outputText: text } = response
  const answer = readJson(text)
  const result = answer && (await schema['~standard'].validate(answer.json))
  if (answer !== undefined && result !== undefined && result.issues === undefined) {
    const { value } = result
    return { value, plain: plainOutput(value) ?? answer.json }
  }
  const cut = cutBy(response)
  const [cause, problems] = cut ?? faultOf(text, result?.issues)
  const issues = typeof problems === 'string' ? [{ path: '', problem: problems }] : problems
  return {
    error: new ValidationError('invalid_output', issues, { metadata: { cause } }),
    repairable: cut === undefined,
  }
}

/**
 * A validated value as plain data: as it is, or as JSON writes it. A `Map` and a `Set`, which JSON would write as `{}`, are lists, and a
 * `bigint` is a text. Returns `undefined` for a value that cannot be written, such as one that refers to itself.
 */
function plainOutput(value: unknown): JsonValue | undefined {
  // The check says that it is JSON.
  if (json(value).length === 0) return value as JsonValue
  try {
    const written: unknown = JSON.parse(JSON.stringify(value, asWritten))
    return json(written).length === 0 ? (written as JsonValue) : undefined
  } catch {
    return undefined
  }
}

function asWritten(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Map || value instanceof Set ? [...value] : value
}

/**
 * Why an answer is not the output: it was cut at `maxTokens`, filtered, refused by the model, has no text, is not JSON, or does
 * not match the schema.
 */
export type OutputFault =
  | 'length'
  | 'content_filter'
  | 'refusal'
  | 'empty'
  | 'not_json'
  | 'mismatch'

/** What is wrong with an answer, and its problems. */
type Fault = readonly [OutputFault, string | readonly Issue[]]

function faultOf(text: string, issues: readonly SchemaIssue[] | undefined): Fault {
  if (issues !== undefined) return ['mismatch', issues.map(toIssue)]
  return text === ''
    ? ['empty', 'the answer has no text']
    : ['not_json', `the answer is not JSON: ${text.slice(0, 80)}`]
}

/** Why an answer is not whole, if its end says so. */
function cutBy({
  finishReason,
  rawFinishReason,
  metadata,
}: Parameters<typeof checkOutput>[1]): Fault | undefined {
  if (finishReason === 'length') return ['length', 'the answer was cut at maxTokens']
  if (finishReason !== 'content_filter') return undefined
  const { refusal } = metadata
  if (typeof refusal === 'string') {
    return ['refusal', `the model refused: ${refusal.slice(0, 200)}`]
  }
  return rawFinishReason === 'refusal'
    ? ['refusal', 'the model refused']
    : ['content_filter', 'the answer was filtered']
}

/** The JSON of an answer: all of its text, or what stands in its fence. A text inside the JSON may have a fence of its own. */
function readJson(text: string): { readonly json: JsonValue } | undefined {
  return (
    parsed(text) ??
    parsed(/```\w*\s([^]*)```/.exec(text)?.[1]) ??
    parsed(/```\w*\s([^]*?)```/.exec(text)?.[1])
  )
}

function parsed(text: string | undefined): { readonly json: JsonValue } | undefined {
  try {
    return text === undefined ? undefined : { json: parseWithoutProto(text) as JsonValue } // JSON was parsed.
  } catch {
    return undefined
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

/** Tells the model what was wrong with its answer. Its metadata tells how often that was done. */
export function repairMessage(
  { issues }: ValidationError,
  metadata?: Message['metadata'],
): Message {
  const problems = issues.map(({ path, problem }) =>
    path === '' ? problem : `${path}: ${problem}`,
  )
  return {
    role: 'user',
    content: `The answer does not have the required format. ${problems.join('; ')}. Give the whole answer again, in the required format and with nothing else.`,
    metadata: { ...metadata, repair: true },
  }
}

/** How many of the last messages asked for a repair, in a row with their answers. */
export function repairsIn(messages: readonly Message[]): number {
  const last = messages.findLastIndex(
    ({ role, metadata }) => role === 'user' && !isRepair(metadata),
  )
  return messages.slice(last + 1).filter(({ metadata }) => isRepair(metadata)).length
}

function isRepair(metadata: Message['metadata']): boolean {
  return metadata?.['repair'] === true
}
