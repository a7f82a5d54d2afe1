import { describe, expect, test, vi } from 'vitest'
import { chat, createEngine, streamToolCalls } from '../../../src/index.ts'
import {
  connectMcp,
  type McpClient,
  type McpConnectOptions,
  type McpConnection,
} from '../../../src/mcp.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import {
  connectPair,
  listed,
  packages,
  plainClient,
  resultOfCall,
  said,
  until,
  type Pair,
  type ServerScript,
} from './pairs.ts'

/** A server that can be killed: every connection is a new process, so to say. */
function servers(which: (typeof packages)[number], script: (generation: number) => ServerScript) {
  const started: Pair[] = []
  return {
    started,
    connect: async () => {
      const pair = await connectPair(which, script(started.length + 1))
      started.push(pair)
      return pair.client
    },
    kill: () => started.at(-1)?.kill(),
  }
}

const failed = (message: string): string => JSON.stringify({ error: message })
const lost = failed(
  'the connection to the MCP server was lost before the call had a result; it may have taken effect',
)

describe.each(packages)('%s', (which) => {
  test('a server that was killed between two calls is connected again, once', async () => {
    const server = servers(which, (generation) => ({ call: () => said(`from ${generation}`) }))
    await using connection = await connectMcp(server.connect)
    const { tools } = connection
    expect(await resultOfCall(tools)).toBe('from 1')
    await server.kill()
    const results = await Promise.all([resultOfCall(tools), resultOfCall(tools)])
    expect(results).toEqual(['from 2', 'from 2'])
    expect(server.started).toHaveLength(2)
    expect(connection.client).toBe(server.started[1]?.client)
  })

  test('a call that may have run is not made again', async () => {
    const server = servers(which, (generation) => ({
      call: async () => {
        if (generation === 1) await server.kill()
        return said(`from ${generation}`)
      },
    }))
    await using connection = await connectMcp(server.connect)
    expect(await resultOfCall(connection.tools)).toBe(lost)
    expect(server.started).toHaveLength(1)
    expect(await resultOfCall(connection.tools)).toBe('from 2')
  })

  test('a call of an idempotent tool is made again, once', async () => {
    const server = servers(which, (generation) => ({
      call: async () => {
        if (generation < 3) await server.kill()
        return said(`from ${generation}`)
      },
    }))
    const configure = () => ({ idempotent: true })
    await using connection = await connectMcp(server.connect, { configure })
    expect(await resultOfCall(connection.tools)).toMatch(/the tool failed: .*[Cc]onnection closed/)
    expect(server.started).toHaveLength(2)
    expect(await resultOfCall(connection.tools)).toBe('from 3')
  })

  test('a server that cannot be connected again is a failed call, and the next call tries again', async () => {
    const server = servers(which, (generation) => ({ call: () => said(`from ${generation}`) }))
    let isUp = true
    const connect = async () => {
      if (!isUp) throw new Error('nobody is there')
      return server.connect()
    }
    await using connection = await connectMcp(connect)
    await server.kill()
    isUp = false
    expect(await resultOfCall(connection.tools)).toBe(failed('the tool failed: nobody is there'))
    isUp = true
    expect(await resultOfCall(connection.tools)).toBe('from 2')
  })

  test('the list is current after a change, and after the server was connected again', async () => {
    const names = [['a'], ['a', 'b'], ['b'], ['c']]
    let at = 0
    const server = servers(which, () => ({
      list: () => ({ tools: (names[at] ?? []).map((name) => listed(name)) }),
      call: ({ name }) => {
        if (names[at]?.includes(name) === true) return said(name)
        throw Object.assign(new Error(`Tool ${name} not found`), { code: -32_602 })
      },
    }))
    await using connection = await connectMcp(server.connect, { prefix: 'x' })
    const listedNow = (): string[] => connection.tools.map(({ name }) => name)
    const first = connection.tools
    expect(listedNow()).toEqual(['x_a'])
    at = 1
    await server.started[0]?.listChanged()
    await until(() => listedNow().length === 2)
    expect(listedNow()).toEqual(['x_a', 'x_b'])
    at = 2
    expect((await connection.refresh()).map(({ name }) => name)).toEqual(['x_b'])
    // A tool of an engine that was made before is answered by the server.
    expect(await resultOfCall(first)).toMatch(/Tool a not found/)
    await server.kill()
    at = 3
    await resultOfCall(first)
    expect(listedNow()).toEqual(['x_c'])
  })

  test('a run uses the current list when it asks for it in each step', async () => {
    let names = ['a']
    const server = servers(which, () => ({
      list: () => ({ tools: names.map((name) => listed(name)) }),
      call: async ({ name }) => {
        names = ['b']
        await server.started[0]?.listChanged()
        return said(name)
      },
    }))
    await using connection = await connectMcp(server.connect)
    const adapter = fake({
      scripts: [
        [['tool_call', { id: 'c1', name: 'a', arguments: {} }]],
        [['tool_call', { id: 'c2', name: 'b', arguments: {} }]],
        [['text', 'done']],
      ],
    })
    const prepareStep = () => ({ tools: connection.tools })
    const { thread } = await chat(createEngine({ adapter }), 'go', { prepareStep })
    expect(
      thread.messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
    ).toEqual(['a', 'b'])
  })

  test('a bad tool that comes later is left out', async () => {
    let inputSchema: unknown = { type: 'object' }
    const server = servers(which, () => ({
      list: () => ({ tools: [listed('a'), listed('b', { inputSchema })] }),
    }))
    await using connection = await connectMcp(server.connect)
    inputSchema = 5
    expect((await connection.refresh()).map(({ name }) => name)).toEqual(['a'])
  })

  test('after close nothing is connected, and calls fail', async () => {
    const server = servers(which, () => ({}))
    const connection = await connectMcp(server.connect)
    const { tools, client } = connection
    await connection.close()
    await connection.close()
    expect(client.transport).toBeUndefined()
    expect(await resultOfCall(tools)).toBe(
      failed('the tool failed: the MCP server is not connected'),
    )
    expect(server.started).toHaveLength(1)
  })

  test('close fails the calls that are open', async () => {
    const server = servers(which, () => ({
      call: async () => {
        await connection.close()
        return said('late')
      },
    }))
    const connection: McpConnection = await connectMcp(server.connect)
    expect(await resultOfCall(connection.tools)).toBe(lost)
  })
})

describe('connectTimeoutMs', () => {
  test('a server that never answers is an error in time, and its client is closed when it comes', async () => {
    const clock = virtualClock()
    const close = vi.fn(async () => undefined)
    let arrive: (client: McpClient) => void = () => undefined
    let given: McpConnectOptions | undefined
    const connect = (options: McpConnectOptions) => {
      given = options
      return new Promise<McpClient>((resolve) => {
        arrive = resolve
      })
    }
    const connecting = connectMcp(connect, { clock, connectTimeoutMs: 250 })
    await expect(connecting).rejects.toMatchObject({
      kind: 'tool',
      reason: 'timeout',
      message: 'the MCP server did not answer in 250 ms (connectTimeoutMs)',
    })
    expect([given?.signal.aborted, given?.timeout, clock.now(), clock.pending]).toEqual([
      true,
      250,
      250,
      0,
    ])
    arrive({ ...plainClient([], async () => ({})), close })
    await until(() => close.mock.calls.length === 1)
  })

  test('holds for the list too, and closes the client', async () => {
    const clock = virtualClock()
    const close = vi.fn(async () => undefined)
    const client = {
      ...plainClient([], async () => ({})),
      close,
      listTools: () => new Promise<never>(() => undefined),
    }
    await expect(connectMcp(() => client, { clock })).rejects.toThrow('30000 ms (connectTimeoutMs)')
    await until(() => close.mock.calls.length === 1)
  })

  test('a list that is refused closes the client, and so does close while it is connected again', async () => {
    const close = vi.fn(async () => undefined)
    const bad = { ...plainClient([listed('a', { inputSchema: 1 })], async () => ({})), close }
    await expect(connectMcp(() => bad)).rejects.toThrow('a inputSchema must be')
    await until(() => close.mock.calls.length === 1)

    const lostClient = {
      ...plainClient([listed('a')], async () => {
        throw new Error('Not connected')
      }),
      close,
    }
    let connects = 0
    const connect = (): McpClient | Promise<McpClient> =>
      ++connects === 1 ? lostClient : new Promise(() => undefined)
    const connection = await connectMcp(connect, { clock: virtualClock() })
    const stream = streamToolCalls([{ id: 'c1', name: 'a', arguments: {} }], connection.tools)
    const result = stream.result
    await until(() => connects === 2)
    await connection.close()
    const { messages } = await result
    expect(messages[0]?.content).toBe(failed('the tool failed: the MCP server is not connected'))
  })

  test('close waits for the client that is being connected, and closes it', async () => {
    const steps: string[] = []
    const lostClient = plainClient([listed('a')], async () => {
      throw new Error('Not connected')
    })
    let arrive: ((client: McpClient) => void) | undefined
    const arriving = new Promise<McpClient>((resolve) => {
      arrive = resolve
    })
    let connects = 0
    const connection = await connectMcp(() => (++connects === 1 ? lostClient : arriving))
    const result = resultOfCall(connection.tools)
    await until(() => connects === 2)
    const closing = connection.close().then(() => steps.push('over'))
    await result
    arrive?.({
      ...plainClient([], async () => ({})),
      close: async () => {
        steps.push('closing')
        await Promise.resolve()
        steps.push('closed')
      },
    })
    await closing
    expect(steps).toEqual(['closing', 'closed', 'over'])
  })

  test('what connect throws is what connectMcp throws', async () => {
    const connect = (): McpClient => {
      throw new RangeError('no such command')
    }
    await expect(connectMcp(connect)).rejects.toThrow(RangeError)
  })
})

test('unknown options are refused by name', async () => {
  const connect = () => plainClient([], async () => ({}))
  await expect(connectMcp(connect, { connectTimeout: 5 } as object)).rejects.toThrow(
    'unknown key connectTimeout; did you mean connectTimeoutMs?',
  )
})

test('a client in place of the function that connects it is refused, and so is a function that gives none', async () => {
  const client = plainClient([], () => Promise.resolve({}))
  // A caller without types may pass anything.
  const refused = {
    kind: 'validation',
    message: expect.stringContaining('connect must be a function'),
  }
  await expect(connectMcp(client as never)).rejects.toMatchObject(refused)
  const none = connectMcp((async () => undefined) as never)
  await expect(none).rejects.toThrow('client must be a connected MCP client')
})
