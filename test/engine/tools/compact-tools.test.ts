import { describe, expect, test } from 'vitest'
import type { Tool } from '../../../src/core/contracts/tool.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { helpText, projectTools, toolTable } from '../../../src/engine/tools/compact-tools.ts'
import { runToolCalls } from '../../../src/engine/tools/run-tool-calls.ts'
import { tool } from '../../../src/engine/tools/tool.ts'
import { call, simple, textOf } from './support.ts'

const schema: JsonObject = {
  type: 'object',
  properties: {
    units: { type: 'string' },
    city: { type: 'string' },
    lang: { type: 'string' },
    day: { type: 'integer' },
  },
  required: ['day', 'city'],
}

const description = 'Gives the weather. It knows every city.\nAnd more.'

const weather = tool({
  name: 'weather',
  description,
  schema,
  compact: true,
  strict: true,
  handler: ({ city }) => `sun in ${JSON.stringify(city)}`,
})
const plain = simple('plain', () => 1)

function described(more: Partial<Tool>): string | undefined {
  return projectTools([{ ...weather, ...more }])[0]?.description
}

describe('the tools that are sent to the model', () => {
  test('tools that are not compact are sent in full, without their handlers', () => {
    const strict = tool({ name: 'a', description: 'd', schema, strict: true, handler: () => 1 })

    expect(projectTools([strict, plain])).toEqual([
      { name: 'a', description: 'd', schema, strict: true },
      { name: 'plain', description: 'Does plain.', schema: {} },
    ])
  })

  test('a compact tool is one line with its arguments, and tool_help is added once, last', () => {
    const other = simple('other', () => 1, { compact: true })
    const [first, second, third, help, ...rest] = projectTools([weather, other, plain])

    expect(first).toEqual({
      name: 'weather',
      description: 'Gives the weather. Args: day, city [lang, units] [compact]',
      schema: { type: 'object' },
    })
    expect(second?.description).toBe('Does other. [compact]')
    expect(third?.name).toBe('plain')
    expect(help).toMatchObject({ name: 'tool_help', schema: { required: ['names'] } })
    expect(rest).toEqual([])
  })

  test('a tool that is forced is sent in full', () => {
    const specs = projectTools([weather, plain], 'weather')

    expect(specs[0]).toEqual({ name: 'weather', description, schema, strict: true })
    expect(specs.map(({ name }) => name)).toEqual(['weather', 'plain', 'tool_help'])
  })

  test.each(['auto', 'none', 'required', 'plain'])(
    'the choice %s forces no compact tool',
    (choice) => {
      expect(projectTools([weather, plain], choice)[0]?.schema).toEqual({ type: 'object' })
    },
  )

  test('the list is the same from step to step', () => {
    expect(JSON.stringify(projectTools([weather, plain]))).toBe(
      JSON.stringify(projectTools([weather, plain])),
    )
  })

  test.each([
    ['a summary goes first', { summary: 'Weather now' }, 'Weather now Args: day'],
    [
      'a summary of several lines becomes one line',
      { summary: 'Weather\n  now' },
      'Weather now Args: day',
    ],
    ['an empty summary is ignored', { summary: ' ' }, 'Gives the weather. Args: day'],
    [
      'a description without a sentence: its first line',
      { description: 'Weather\nand so on.' },
      'Weather Args: day',
    ],
    [
      'a dot inside a word does not end a sentence',
      { description: 'Uses v1.5 of it. Yes.' },
      'Uses v1.5 of it. Args',
    ],
    ['no properties: no arguments', { schema: {} }, 'Gives the weather. [compact]'],
    ['empty properties', { schema: { properties: {} } }, 'Gives the weather. Args: none [compact]'],
    [
      'only optional arguments',
      { schema: { properties: { b: {}, a: {} } } },
      'Gives the weather. Args: [a, b] [compact]',
    ],
  ])('%s', (_what, more, start) => {
    expect(described(more)).toMatch(new RegExp(`^${start.replaceAll(/[[\].]/g, '\\$&')}`))
  })

  test('a long line is cut to 160 characters', () => {
    const line = described({ summary: 'x'.repeat(500), schema: {} })

    expect(line).toBe(`${'x'.repeat(157)}... [compact]`)
  })
})

describe('tool_help', () => {
  const ask = async (args: JsonObject): Promise<unknown> => {
    const { messages } = await runToolCalls([call('c0', 'tool_help', args)], [weather, plain])
    return messages[0]?.content
  }
  const section = `## weather\n${description}\nArguments (JSON Schema): ${JSON.stringify(schema)}`

  test('is answered by the runner: one section for each name, without duplicates, in the requested order', async () => {
    expect(await ask({ names: ['plain', 'weather', 'plain'] })).toBe(
      `## plain\nDoes plain.\nArguments (JSON Schema): {}\n\n${section}`,
    )
  })

  test('accepts a single name too', async () => {
    expect(await ask({ names: 'weather' })).toBe(section)
  })

  test.each([{}, { names: [] }, { names: 5 }, { names: [5] }])(
    'explains its arguments when called with %j',
    async (args) => {
      expect(await ask(args)).toBe(
        'Send the tools to explain as {"names": ["…"]}. There are: weather, plain.',
      )
    },
  )

  test('lists the existing tools when a name is unknown', async () => {
    expect(await ask({ names: ['wether'] })).toBe(
      '## wether\nThere is no tool of this name. There are: weather, plain.',
    )
    expect(helpText([], { names: ['a'] })).toMatch(/^## a/)
  })

  test('is not passed to the executor', async () => {
    const seen: string[] = []
    const calls = [call('c0', 'tool_help', { names: ['weather'] }), call('c1', 'plain')]

    const { messages } = await runToolCalls(calls, [weather, plain], {
      toolExecutor: ({ name }) => {
        seen.push(name)
        return 'executed'
      },
    })

    expect(seen).toEqual(['plain'])
    expect(messages[0]?.content).toBe(section)
  })

  test('exists only together with compact tools', async () => {
    expect(toolTable([plain]).has('tool_help')).toBe(false)
    await expect(runToolCalls([call('c0', 'tool_help')], [plain])).rejects.toMatchObject({
      reason: 'unknown_tool',
    })
  })

  test('a custom tool of that name is refused together with compact tools, and accepted without them', async () => {
    const own = simple('tool_help', () => 'mine')

    expect(() => projectTools([own, weather])).toThrow(
      'invalid tool: tools[0].name duplicate name: tool_help is built in when a tool is compact',
    )
    expect(() => toolTable([own, weather])).toThrow(/duplicate name/)
    const { messages } = await runToolCalls([call('c0', 'tool_help')], [own, plain])
    expect(messages[0]?.content).toBe('mine')
  })
})

test('a compact tool is checked against its full schema, and refused arguments add its help text', async () => {
  const calls = [call('c0', 'weather', { city: 'Oslo', day: 1 }), call('c1', 'weather', { day: 1 })]

  const { messages } = await runToolCalls(calls, [weather])

  expect(messages[0]?.content).toBe('sun in "Oslo"')
  expect(JSON.parse(textOf(messages[1]))).toEqual({
    error: 'invalid arguments: city: is missing',
    help: expect.stringContaining('Arguments (JSON Schema): {"type":"object"'),
  })
})
