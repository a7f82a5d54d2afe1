import type { ModelTraits } from './model-traits.ts'
import { strictSchema } from './strict-schema.ts'
import type { AnswerTool, StructuredOutput } from './structured-output.ts'
import { wireName } from './tool-ids.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest, ToolSpec } from '../../types/request.ts'

/** The tools of a request and how the model has to choose among them. */
export interface RenderedTools {
  readonly tools?: readonly JsonObject[]
  readonly toolChoice?: JsonObject
  /** A call is forced, which the API does not allow together with thinking. */
  readonly forced: boolean
  /** The request forces a call and the model does not take that. */
  readonly dropped: boolean
}

/** Renders tools and choice. A forced choice that the model refuses is left out, and said so. */
export function renderTools(
  request: ModelRequest,
  traits: ModelTraits,
  structured: StructuredOutput,
): RenderedTools {
  const tools = request.tools.map((tool) => renderTool(tool, traits.structuredOutput))
  if (structured.by === 'tool') return withAnswerTool(request, tools, structured.tool)
  if (tools.length === 0) return withoutTools(request)
  const choice = renderChoice(request.toolChoice)
  const forced = choice !== undefined && choice['type'] !== 'none'
  const dropped = forced && !traits.forcedTools
  return defined<RenderedTools>({
    tools,
    toolChoice: dropped ? undefined : choice,
    forced: forced && !dropped,
    dropped,
  })
}

/** `auto` is the API's default and is not written. */
function renderChoice(choice: string | undefined): JsonObject | undefined {
  switch (choice) {
    case undefined:
    case 'auto':
      return undefined
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any' }
    default:
      return { type: 'tool', name: choice }
  }
}

function renderTool(
  { name, description, schema, strict }: ToolSpec,
  canBeStrict: boolean,
): JsonObject {
  const isStrict = strict === true && canBeStrict
  const input_schema = { ...(isStrict ? strictSchema(schema) : schema), type: 'object' }
  return {
    name,
    ...(description === '' ? {} : { description }),
    input_schema,
    ...(isStrict ? { strict: true } : {}),
  }
}

/** The answer is one more tool: the only one that may be called, or one among those that must be. */
function withAnswerTool(
  { toolChoice = 'auto' }: ModelRequest,
  tools: readonly JsonObject[],
  { name, description, schema }: AnswerTool,
): RenderedTools {
  const rendered = { forced: true, dropped: false }
  const all = [...tools, { name, description, input_schema: schema }]
  if (tools.length === 0 || toolChoice === 'none') {
    return { ...rendered, tools: all, toolChoice: { type: 'tool', name } }
  }
  if (toolChoice === 'auto') return { ...rendered, tools: all, toolChoice: { type: 'any' } }
  // The caller wants one of their own tools first; the answer comes in a later turn.
  return defined<RenderedTools>({ ...rendered, tools, toolChoice: renderChoice(toolChoice) })
}

/** A conversation with calls in it has to declare their tools, also when none may be called any more. */
function withoutTools({ messages, providerOptions }: ModelRequest): RenderedTools {
  const rendered = { forced: false, dropped: false }
  const names = new Set<string>()
  for (const { toolCalls = [] } of messages) {
    for (const { name } of toolCalls) names.add(wireName(name, 'unnamed'))
  }
  if (names.size === 0 || providerOptions.anthropic?.['tools'] !== undefined) return rendered
  const tools = Array.from(names, (name) => ({ name, input_schema: { type: 'object' } }))
  return { ...rendered, tools, toolChoice: { type: 'none' } }
}
