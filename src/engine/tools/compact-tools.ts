import type { Tool } from '../../core/contracts/tool.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { toToolSpec } from '../../core/messages/requests.ts'
import { assertValid, within } from '../../core/schema/checks.ts'
import { repeatedNames } from '../../core/schema/validate.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ToolChoice, ToolSpec } from '../../core/types/request.ts'

/**
 * The tools as the model sees them: full specs, and for compact tools a one-line stub, with `tool_help` added once at the end.
 *
 * A compact tool that `toolChoice` forces is sent in full. The list depends on nothing else, so a prompt cache keeps it from
 * step to step. Two tools of one name, `tool_help` included, throw a `ValidationError`.
 */
export function projectTools(tools: readonly Tool[], toolChoice?: ToolChoice): readonly ToolSpec[] {
  return withToolHelp(tools).map((tool) =>
    tool.compact && tool.name !== toolChoice ? stub(tool) : toToolSpec(tool),
  )
}

/** The tools that run calls, by name: the given ones, and `tool_help` if one of them is compact. */
export function toolTable(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  return new Map(withToolHelp(tools).map((tool) => [tool.name, tool]))
}

function withToolHelp(tools: readonly Tool[]): readonly Tool[] {
  assertValid('invalid_tool', within('tools', repeatedNames(tools)))
  if (!tools.some(({ compact }) => compact)) return tools
  const own = tools.findIndex(({ name }) => name === toolHelpName)
  if (own === -1) return [...tools, toolHelp(tools)]
  const problem = `duplicate name: ${toolHelpName} is built in when a tool is compact`
  throw new ValidationError('invalid_tool', [{ path: `tools[${own}].name`, problem }])
}

function stub(tool: Tool): ToolSpec {
  const { name, providerOptions } = tool
  const description = `${summaryOf(tool)}${argumentsOf(tool.schema)} [compact]`.trim()
  return defined<ToolSpec>({ name, description, schema: { type: 'object' }, providerOptions })
}

const longest = 160

/** The tool in one line: its summary, or the first sentence of its description. */
function summaryOf({ summary = '', description }: Tool): string {
  const text = summary.trim() === '' ? firstSentence(description) : summary
  const line = text.replaceAll(/\s+/g, ' ').trim()
  if (line.length <= longest) return line
  return `${line.slice(0, longest - 3).replace(/[\uD800-\uDBFF]$/, '')}...`
}

function firstSentence(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n]/, 1)
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line
}

/** The names of the arguments: required ones in their order, then the others by name. */
function argumentsOf({ properties, required }: JsonObject): string {
  if (!isObject(properties)) return ''
  const needed = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const optional = Object.keys(properties).filter((name) => !needed.includes(name))
  const words = needed.length > 0 ? [needed.join(', ')] : []
  if (optional.length > 0) words.push(`[${optional.toSorted().join(', ')}]`)
  return ` Args: ${words.length === 0 ? 'none' : words.join(' ')}`
}

/** The name of the built-in tool. */
const toolHelpName = 'tool_help'

/** The built-in tools, to tell them from a tool of the same name. */
const builtIn = new WeakSet<Tool>()

/** Whether a tool is the built-in one. Another tool may have its name. */
export function isToolHelp(tool: Tool): boolean {
  return tool.name === toolHelpName && builtIn.has(tool)
}

/** The built-in tool that gives the model the details of compact tools. */
function toolHelp(tools: readonly Tool[]): Tool {
  const help: Tool = {
    name: toolHelpName,
    description:
      'Gives the full description and the argument schema of tools that are marked [compact]. ' +
      'Ask before the first call of such a tool; several names at once are fine.',
    schema: helpSchema,
    handler: (args) => helpText(tools, args),
    manual: false,
    compact: false,
    idempotent: true,
  }
  builtIn.add(help)
  return help
}

const helpSchema: JsonObject = {
  type: 'object',
  properties: {
    names: {
      type: 'array',
      items: { type: 'string' },
      description: 'The names of the tools.',
    },
  },
  required: ['names'],
  additionalProperties: false,
}

/**
 * The answer to a `tool_help` call: one section for each name that was asked for, in that order, each once.
 *
 * Never throws: unknown names and invalid arguments are answered with an explanation.
 */
export function helpText(tools: readonly Tool[], args: JsonObject): string {
  const asked = namesIn(args)
  if (asked.length === 0) {
    return `Send the tools to explain as {"names": ["…"]}. There are: ${namesOf(tools)}.`
  }
  const sections = asked.map((name) => {
    const tool = tools.find((candidate) => candidate.name === name)
    return tool === undefined
      ? `## ${name}\nThere is no tool of this name. There are: ${namesOf(tools)}.`
      : helpFor(tool)
  })
  return sections.join('\n\n')
}

/** Everything about one tool, as text for the model. */
export function helpFor({ name, description, schema }: Tool): string {
  return `## ${name}\n${description}\nArguments (JSON Schema): ${JSON.stringify(schema)}`
}

function namesIn({ names }: JsonObject): readonly string[] {
  const list: readonly unknown[] = Array.isArray(names) ? names : [names]
  const words = list.filter((name): name is string => typeof name === 'string' && name !== '')
  return [...new Set(words)]
}

function namesOf(tools: readonly Tool[]): string {
  return tools.map(({ name }) => name).join(', ')
}
