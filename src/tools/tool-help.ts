import type { Tool } from '../contracts/tool.ts'
import type { JsonObject } from '../types/json.ts'

/** The name of the built-in tool. */
export const toolHelpName = 'tool_help'

/** Tells the built-in tool from a tool of the same name. */
const builtIn = new WeakSet<Tool>()

/** Whether a tool is the built-in one; its name alone does not make it so. */
export function isToolHelp(tool: Tool): boolean {
  return tool.name === toolHelpName && builtIn.has(tool)
}

/** The built-in tool that tells the model what compact stubs leave out, for the given tools. */
export function toolHelp(tools: readonly Tool[]): Tool {
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
 * Never throws: a name that does not exist and arguments of the wrong form are answered in words.
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
