import { describe, expect, test, vi } from 'vitest'
import { validateTool } from '../../../src/index.ts'
import { mcpTools, type McpToolsOptions } from '../../../src/mcp.ts'
import { connectPair, listed, packages, plainClient, resultOfCall, said } from './pairs.ts'

const idle = async (): Promise<object> => said('done')

describe.each(packages)('%s', (which) => {
  test('a tool of a server is listed with its description and schema, and called with its arguments', async () => {
    const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
    const { client } = await connectPair(which, {
      list: () => ({ tools: [listed('echo', { inputSchema })] }),
      call: ({ name, arguments: args }) => said(`${name} ${String(args['text'])}`),
    })
    const tools = await mcpTools(client)
    expect(tools).toMatchObject([
      {
        name: 'echo',
        description: 'The tool echo.',
        schema: inputSchema,
        idempotent: false,
        needsApproval: false,
      },
    ])
    expect(await resultOfCall(tools, { text: 'hi' })).toBe('echo hi')
  })

  test('a pattern of a server is shown to the model, and not run', async () => {
    const pattern = '^(a+)+$'
    const properties = { text: { type: 'string', pattern } }
    const inputSchema = { type: 'object', properties, patternProperties: { [pattern]: {} } }
    const slow = `${'a'.repeat(60)}!`
    const { client } = await connectPair(which, {
      list: () => ({ tools: [listed('echo', { inputSchema })] }),
      call: ({ arguments: args }) => said(String(Object.keys(args).length)),
    })
    const tools = await mcpTools(client, { configure: () => ({ needsApproval: () => false }) })
    expect(tools[0]?.schema).toEqual(inputSchema)
    expect(await resultOfCall(tools, { text: slow, [slow]: 1 })).toBe('2')
  })

  test('all pages of a list are read', async () => {
    const { client } = await connectPair(which, {
      list: (cursor) =>
        cursor === undefined
          ? { tools: [listed('a')], nextCursor: '2' }
          : { tools: [listed('b')], ...(cursor === '2' ? { nextCursor: '3' } : {}) },
    })
    const tools = await mcpTools(client, { onRefused: () => undefined })
    expect(tools.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  test('one bad tool does not hide the others', async () => {
    const { client } = await connectPair(which, {
      list: () => ({
        tools: [
          listed('odd', {
            inputSchema: 'none',
            outputSchema: { $ref: '#/nowhere', type: 'object' },
          }),
          listed('good', { outputSchema: { type: 'object', $ref: '#/$defs/missing' } }),
        ],
      }),
    })
    const refused: unknown[] = []
    const tools = await mcpTools(client, { onRefused: (one) => refused.push(one) })
    expect(tools.map(({ name }) => name)).toEqual(['good'])
    expect(refused).toEqual([
      { name: 'odd', problem: 'inputSchema must be a JSON Schema of an object' },
    ])
    expect(await resultOfCall(tools)).toBe('done')
  })

  test('a server without tools has an empty list', async () => {
    const { client } = await connectPair(which, {})
    vi.spyOn(client, 'getServerCapabilities').mockReturnValue({})
    expect(await mcpTools(client)).toEqual([])
  })
})

test('a client of any other make needs only a list and calls', async () => {
  const call = vi.fn(async () => said('hi'))
  const tools = await mcpTools(plainClient([listed('act')], call))
  expect(await resultOfCall(tools)).toBe('hi')
  expect(call).toHaveBeenCalledWith(
    { name: 'act', arguments: {} },
    expect.objectContaining({ timeout: 2_000_000_000 }),
  )
})

describe('names', () => {
  const named = async (name: string, prefix?: string): Promise<string> => {
    const [tool] = await mcpTools(plainClient([listed(name)], idle), { prefix })
    expect(validateTool(tool)).toEqual([])
    expect(tool?.name).toMatch(/^[A-Za-z_][\w-]{0,63}$/)
    return tool?.name ?? ''
  }

  test.each([
    ['read_file', undefined, 'read_file'],
    ['read-file', 'fs', 'fs_read-file'],
    ['read', 'fs_', 'fs_read'],
    ['read', 'fs-', 'fs-read'],
    ['x'.repeat(64), undefined, 'x'.repeat(64)],
  ])('%s with the prefix %s is %s', async (name, prefix, expected) => {
    expect(await named(name, prefix)).toBe(expected)
  })

  test.each([
    ['a.b', 'a_b', undefined],
    ['admin/tools/list', 'admin_tools_list', undefined],
    ['7zip', '_7zip', undefined],
    ['x'.repeat(65), 'x'.repeat(56), undefined],
    ['x'.repeat(60), `files_${'x'.repeat(50)}`, 'files'],
    ['größe', 'gr__e', undefined],
  ])('%s is changed, and ends in a hash', async (name, start, prefix) => {
    const legal = await named(name, prefix)
    expect(legal).toMatch(new RegExp(`^${start}_[0-9a-z]{4,7}$`))
    expect(await named(name, prefix)).toBe(legal)
  })

  test('names that look alike stay different, and lead back', async () => {
    const names = [
      'a.b',
      'a/b',
      'a_b',
      'a b',
      ...Array.from({ length: 200 }, (_, at) => `${'long'.repeat(20)}.${at}`),
    ]
    const client = plainClient(
      names.map((name) => listed(name)),
      async ({ name }: { name: string }) => said(name),
    )
    const tools = await mcpTools(client, { prefix: 'p' })
    expect(new Set(tools.map(({ name }) => name)).size).toBe(names.length)
    for (const at of [0, 1, 2, 3, 100])
      expect(await resultOfCall(tools, {}, tools[at]?.name)).toBe(names[at])
  })

  test('a name that is listed twice is refused', async () => {
    const client = plainClient([listed('a'), listed('a')], idle)
    await expect(mcpTools(client)).rejects.toThrow('a name is used twice')
  })
})

describe('include', () => {
  const client = plainClient(
    [listed('read'), listed('write'), listed('bad', { inputSchema: 1 })],
    idle,
  )
  const names = async (include: McpToolsOptions['include']): Promise<string[]> =>
    (await mcpTools(client, { include })).map(({ name }) => name)

  test('takes the names at the server, or chooses', async () => {
    expect(await names(['write'])).toEqual(['write'])
    expect(await names(({ name }) => name.startsWith('r'))).toEqual(['read'])
  })

  test('a name that the server lacks is refused, and so is a bad tool that was not left out', async () => {
    await expect(names(['write', 'delete'])).rejects.toThrow(
      'include has delete, which the MCP server lacks',
    )
    await expect(names(undefined)).rejects.toThrow(
      'bad inputSchema must be a JSON Schema of an object',
    )
  })
})

describe('annotations', () => {
  const annotated = (annotations: object, options: McpToolsOptions) =>
    mcpTools(plainClient([listed('act', { annotations })], idle), options)

  test.each([
    [{ readOnlyHint: true }, { idempotent: true, needsApproval: false }],
    [{ idempotentHint: true }, { idempotent: true, needsApproval: false }],
    [{ destructiveHint: true }, { idempotent: false, needsApproval: true }],
    [
      { readOnlyHint: true, destructiveHint: true },
      { idempotent: true, needsApproval: false },
    ],
    [
      { idempotentHint: 'yes', destructiveHint: 1 },
      { idempotent: false, needsApproval: false },
    ],
  ])('%j are used only if the caller trusts them', async (annotations, trusted) => {
    expect(await annotated(annotations, { trustAnnotations: true })).toMatchObject([trusted])
    const plain = { idempotent: false, needsApproval: false }
    expect(await annotated(annotations, {})).toMatchObject([plain])
  })

  test('configure wins over them', async () => {
    const configure: McpToolsOptions['configure'] = ({ name }) => ({
      idempotent: name !== 'act',
      needsApproval: true,
      timeoutMs: 5,
      description: 'Mine.',
    })
    const tools = await annotated({ readOnlyHint: true }, { trustAnnotations: true, configure })
    expect(tools).toMatchObject([
      { idempotent: false, needsApproval: true, timeoutMs: 5, description: 'Mine.' },
    ])
  })
})

describe('hostile lists', () => {
  /** Each level refers to the next one twice. */
  const laughs = (levels: number): object => {
    const defs: Record<string, object> = { [`d${levels}`]: { type: 'string' } }
    for (let at = 0; at < levels; at++) {
      const next = { $ref: `#/$defs/d${at + 1}` }
      defs[`d${at}`] = { anyOf: [next, next] }
    }
    return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: defs }
  }

  test.each([
    ['no schema', undefined, 'inputSchema must be a JSON Schema of an object'],
    ['a list', [], 'inputSchema must be a JSON Schema of an object'],
    ['not an object', { type: 'string' }, 'schema must describe an object'],
    ['references that double', laughs(40), 'inputSchema has more than 20000 parts'],
    [
      'huge',
      { type: 'object', enum: Array.from({ length: 30_000 }, () => 1) },
      'inputSchema has more than 20000 parts',
    ],
    [
      'elsewhere',
      { type: 'object', properties: { a: { $ref: 'https://evil.test/x' } } },
      'refers to https://evil.test/x',
    ],
    [
      'nowhere',
      { type: 'object', $ref: '#/$defs/x' },
      'inputSchema refers to #/$defs/x, which is not in it',
    ],
  ])('a schema that is %s is refused by name', async (_title, inputSchema, problem) => {
    const client = plainClient([listed('odd', { inputSchema }), listed('good')], idle)
    await expect(mcpTools(client)).rejects.toThrow(problem)
    const refused: string[] = []
    const tools = await mcpTools(client, { onRefused: ({ name }) => refused.push(name) })
    expect([refused, tools.length]).toEqual([['odd'], 1])
  })

  test('what a schema means is for the server to judge', async () => {
    const odd = [{ city: 'string' }, { type: 'object', properties: { city: 'string' } }]
    const infos = odd.map((inputSchema, index) => listed(`odd${index}`, { inputSchema }))
    const tools = await mcpTools(plainClient(infos, idle))
    expect(tools.map(({ schema }) => schema)).toEqual(odd)
  })

  test('recursive schemas and moderate references pass', async () => {
    const tree = { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } } }
    const client = plainClient(
      [listed('a', { inputSchema: tree }), listed('b', { inputSchema: laughs(5) })],
      idle,
    )
    expect(await mcpTools(client)).toHaveLength(2)
  })

  test.each(['auto', 'none', 'required', ''])(
    'the name %j means something else, and is refused',
    async (name) => {
      const client = plainClient([listed(name)], idle)
      await expect(mcpTools(client)).rejects.toThrow(/name must/)
      expect(await mcpTools(client, { prefix: 'p' })).toMatchObject([{ name: `p_${name}` }])
    },
  )

  test('names and descriptions that are no texts are turned into texts', async () => {
    const odd = [
      listed('x', { name: 5 }),
      listed('y', { description: { a: 1 } }),
      listed('z', { description: undefined, title: 'T' }),
    ]
    expect(await mcpTools(plainClient(odd, idle))).toMatchObject([
      { name: expect.stringMatching(/^_5_/) },
      { name: 'y', description: '[object Object]' },
      { name: 'z', description: 'T' },
    ])
    const refused: string[] = []
    const nothing = [null, 7, 'act'] as never
    expect(
      await mcpTools(plainClient(nothing, idle), {
        onRefused: ({ problem }) => refused.push(problem),
      }),
    ).toEqual([])
    expect(refused).toHaveLength(3)
  })

  test('pages without end, too many tools and an answer that is no list are errors', async () => {
    const endless = {
      ...plainClient([], idle),
      listTools: async () => ({ tools: [], nextCursor: 'x' }),
    }
    await expect(mcpTools(endless)).rejects.toThrow('tools must be a list of at most 1000')
    const many = Array.from({ length: 600 }, (_, at) => listed(`t${at}`))
    const flood = { ...endless, listTools: async () => ({ tools: many, nextCursor: 'x' }) }
    await expect(mcpTools(flood)).rejects.toThrow('tools must be a list of at most 1000')
    // A server that answers with something else.
    const none = { ...endless, listTools: async () => ({ tools: 'none' }) as never }
    await expect(mcpTools(none)).rejects.toThrow('tools must be a list of at most 1000')
  })
})

test('unknown options and values of the wrong kind are refused by name', async () => {
  const client = plainClient([], idle)
  const wrong = { prefixes: 'a' } as McpToolsOptions
  await expect(mcpTools(client, wrong)).rejects.toThrow(
    'unknown key prefixes; did you mean prefix?',
  )
  await expect(
    mcpTools(client, { maxResultBytes: -1, trustAnnotations: 1 as never }),
  ).rejects.toThrow(/maxResultBytes|trustAnnotations/)
})

test.each([{}, undefined, 'http://localhost/mcp', { listTools: true }])(
  '%j is refused as a client',
  async (client) => {
    const problem = 'client must be a connected MCP client'
    // A caller without types may pass anything.
    await expect(mcpTools(client as never)).rejects.toThrow(problem)
    await expect(mcpTools(client as never)).rejects.toMatchObject({ kind: 'validation' })
  },
)
