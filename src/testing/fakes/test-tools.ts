import type { ResultPart, Tool } from '../../core/contracts/tool.ts'
import { askUser, content, fail } from '../../core/messages/outcomes.ts'
import { isErrorResult } from '../../core/messages/tool-messages.ts'
import { refusal } from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { ToolSpec } from '../../core/types/request.ts'
import { leaveToCaller } from '../../engine/tools/tool-run.ts'
import { foreignTool } from '../../engine/tools/tool.ts'
import type { Cassette } from './cassette.ts'
import { recordedRuns } from './recorded-runs.ts'

/** Options of `recordedTools`, for the calls that were waiting when a recording ended. */
export interface RecordedToolsOptions {
  /** The ids of calls that the caller answers. */
  readonly manual?: readonly string[] | undefined
  /** Questions to the user, by the ids of the calls that ask them. */
  readonly questions?: Readonly<Record<string, string>> | undefined
}

/**
 * The tools of a cassette: they answer what was recorded. A call that was not recorded fails.
 *
 * A call is known by its id, or by its name and arguments, and its answer is given once. Calls whose ids are in `manual` are left to the
 * caller, and those in `questions` ask the user.
 */
export function recordedTools(
  cassette: Cassette,
  { manual = [], questions = {} }: RecordedToolsOptions = {},
): readonly Tool[] {
  const specs = new Map<string, ToolSpec>()
  for (const { request } of cassette.calls)
    for (const spec of request.tools) specs.set(spec.name, spec)
  const left = recordedResults(cassette)
  return Array.from(specs.values(), ({ name, description, schema }) => {
    const played = foreignTool({
      name,
      description,
      schema,
      handler(_args, { toolCall }) {
        const { id } = toolCall
        if (Object.hasOwn(questions, id)) return askUser(questions[id] ?? '')
        const at = resultFor(toolCall, left)
        const [found] = at === -1 ? [] : left.splice(at, 1)
        if (found === undefined) {
          throw new Error(
            `the recording has no answer of ${name} to ${JSON.stringify(toolCall.arguments)}`,
          )
        }
        return outcomeOf(found.result)
      },
    })
    return leaveToCaller(played, ({ id }) => manual.includes(id))
  })
}

interface RecordedResult {
  readonly call: ToolCall
  readonly result: Message
}

function recordedResults(cassette: Cassette): RecordedResult[] {
  return recordedRuns(cassette)
    .flatMap(({ turns }) => turns.flatMap(({ calls }) => calls))
    .flatMap(({ message, results }) =>
      (message?.toolCalls ?? []).flatMap((call) => {
        const result = results.get(call.id)
        return result === undefined ? [] : [{ call, result }]
      }),
    )
}

function resultFor(toolCall: ToolCall, results: readonly RecordedResult[]): number {
  const named = (call: ToolCall): boolean => call.name === toolCall.name
  const byId = results.findIndex(({ call }) => named(call) && call.id === toolCall.id)
  if (byId !== -1) return byId
  return results.findIndex(
    ({ call }) => named(call) && sameJson(call.arguments, toolCall.arguments),
  )
}

/** What a handler returns so that the model reads the same as in the recording. */
export function outcomeOf(result: Message): unknown {
  const { content: said } = result
  if (typeof said !== 'string') {
    return content(
      said.filter(
        (part): part is ResultPart => part.type !== 'reasoning' && part.type !== 'provider_item',
      ),
    )
  }
  if (!isErrorResult(result)) return said
  const value = parseJson(said)
  // Parsed from JSON.
  const reason =
    isObject(value) && Object.keys(value).join() === 'error' ? (value['error'] as JsonValue) : said
  return fail(reason)
}

/**
 * The tools that a module exports, alone or in lists, each once: `import * as tools from './tools.ts'`, then `toolsOf(tools)`.
 *
 * A module without tools throws a `ValidationError`.
 */
export function toolsOf(module: object): readonly Tool[] {
  const found = new Map<string, Tool>()
  for (const value of Object.values(module).flat()) if (isTool(value)) found.set(value.name, value)
  if (found.size > 0) return [...found.values()]
  const names = Object.keys(module).join(', ')
  throw refusal(
    'invalid_options',
    'module',
    `exports no tools made by tool({ … }); it exports ${names === '' ? 'nothing' : names}`,
  )
}

function isTool(value: unknown): value is Tool {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    isObject(value['schema']) &&
    typeof value['manual'] === 'boolean'
  )
}
