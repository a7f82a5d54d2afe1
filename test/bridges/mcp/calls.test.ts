import { Client as NewClient } from '@modelcontextprotocol/client'
import { InMemoryTransport, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { describe, expect, test } from 'vitest'
import {
  chat,
  createEngine,
  Session,
  streamChat,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { mcpTools, type McpToolsOptions } from '../../../src/mcp.ts'
import { collectEvents, fake, virtualClock } from '../../../src/testing.ts'
import { connectPair, listed, packages, plainClient, said, type ServedCall } from './pairs.ts'

/** An engine whose model calls the given tools once, all in one answer, and then says "done". */
function calling(
  tools: readonly Tool[],
  names: readonly string[] = ['act'],
  more: object = {},
): Engine {
  const calls = names.map((name, at) => ['tool_call', { id: `c${at + 1}`, name, arguments: {} }])
  return createEngine({
    adapter: fake({ scripts: [calls as never, [['text', 'done']]] }),
    tools,
    ...more,
  })
}

/** A promise that the test resolves. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve()))

describe.each(packages)('%s', (which) => {
  test('progress of the server is progress of the tool', async () => {
    const { client } = await connectPair(which, {
      call: async ({ progress }) => {
        await progress({ progress: 1, total: 2 })
        await progress({ progress: 2, total: 2, message: 'Nearly' })
        return said('done')
      },
    })
    const events = await collectEvents(streamChat(calling(await mcpTools(client)), 'go'))
    expect(events.filter(({ type }) => type === 'tool_progress')).toEqual([
      { type: 'tool_progress', id: 'c1', name: 'act', data: { progress: 1, total: 2 } },
      {
        type: 'tool_progress',
        id: 'c1',
        name: 'act',
        data: { progress: 2, total: 2, message: 'Nearly' },
      },
    ])
  })

  test('the deadline of the tool cancels the call at the server', async () => {
    const clock = virtualClock({ auto: false })
    const started = gate()
    const stopped = gate()
    const { client, cancels } = await connectPair(which, {
      call: async ({ signal }) => {
        started.open()
        await aborted(signal)
        stopped.open()
        return said('late')
      },
    })
    const running = chat(
      calling(await mcpTools(client), ['act'], { clock, toolTimeoutMs: 500 }),
      'go',
    )
    await started.opened
    await clock.advance(500)
    const { thread } = await running
    await stopped.opened
    expect(thread.messages[2]?.content).toContain('did not finish within 500 ms')
    expect(cancels()).toBe(1)
  })

  test('stopping the run cancels the call at the server', async () => {
    const stop = new AbortController()
    const stopped = gate()
    const { client, cancels } = await connectPair(which, {
      call: async ({ signal }) => {
        stop.abort()
        await aborted(signal)
        stopped.open()
        return said('late')
      },
    })
    const running = chat(calling(await mcpTools(client)), 'go', { signal: stop.signal })
    await expect(running).rejects.toMatchObject({ reason: 'cancelled' })
    await stopped.opened
    expect(cancels()).toBe(1)
  })

  test('a call that has ended is not cancelled', async () => {
    const stop = new AbortController()
    const { client, cancels } = await connectPair(which, {})
    await chat(calling(await mcpTools(client)), 'go', { signal: stop.signal })
    stop.abort()
    await client.ping()
    expect(cancels()).toBe(0)
  })

  describe('a question of the server', () => {
    const requestedSchema = {
      type: 'object',
      properties: { seat: { type: 'string', enum: ['window', 'aisle'] } },
      required: ['seat'],
    }
    /** Asks, and says what was answered. Counts its runs. */
    const asking = (runs: { count: number }) => async (call: ServedCall) => {
      runs.count++
      const { action, content } = await call.elicit({ message: 'Which seat?', requestedSchema })
      return said(`${String(action)} ${JSON.stringify(content)}`)
    }

    test('is a question of the tool, and the call stays open for the answer', async () => {
      const runs = { count: 0 }
      const { client, cancels } = await connectPair(which, { call: asking(runs) })
      const engine = calling(await mcpTools(client))
      const { session } = await Session.start(engine, 'Book a flight')
      expect(session).toMatchObject({
        status: 'awaiting_user',
        pendingQuestion: 'Which seat?',
        pendingQuestionOptions: { schema: requestedSchema },
      })
      const { session: after, result } = await Session.reply(engine, session, 'aisle')
      expect(after.thread.messages[2]?.content).toBe('accept {"seat":"aisle"}')
      expect([result.outputText, runs.count, cancels()]).toEqual(['done', 1, 0])
    })

    test('can be asked again in the same call', async () => {
      const { client } = await connectPair(which, {
        call: async ({ elicit }) => {
          const answers = []
          for (const message of ['One?', 'Two?', 'Three?']) {
            const schema = { type: 'object', properties: { n: { type: 'number' } } }
            answers.push((await elicit({ message, requestedSchema: schema }))['content'])
          }
          return said(JSON.stringify(answers))
        },
      })
      const engine = calling(await mcpTools(client))
      let { session } = await Session.start(engine, 'go')
      for (const [question, answer] of [
        ['One?', '1'],
        ['Two?', '2'],
        ['Three?', '3'],
      ] as const) {
        expect(session.pendingQuestion).toBe(question)
        ;({ session } = await Session.reply(engine, session, answer))
      }
      expect(session.thread.messages[2]?.content).toBe('[{"n":1},{"n":2},{"n":3}]')
    })

    test('is asked again when the answer does not fit', async () => {
      const runs = { count: 0 }
      const { client } = await connectPair(which, { call: asking(runs) })
      const engine = calling(await mcpTools(client))
      const first = await Session.start(engine, 'go')
      const second = await Session.reply(engine, first.session, 'the roof')
      expect(second.session.pendingQuestion).toMatch(/^seat must be .*Which seat\?$/)
      const third = await Session.reply(engine, second.session, 'window')
      expect(third.session.thread.messages[2]?.content).toBe('accept {"seat":"window"}')
      expect(runs.count).toBe(1)
    })

    test.each(['decline', 'cancel'])('can be answered with %s', async (word) => {
      const { client } = await connectPair(which, { call: asking({ count: 0 }) })
      const engine = calling(await mcpTools(client))
      const { session } = await Session.start(engine, 'go')
      const { session: after } = await Session.reply(engine, session, word)
      expect(after.thread.messages[2]?.content).toBe(`${word} undefined`)
    })

    test.each([
      ['repeatOnElicitation', { repeatOnElicitation: true }],
      ['an idempotent tool', { configure: () => ({ idempotent: true }) }],
    ])('with %s cancels the call, which is made again with the answer', async (_title, options) => {
      const runs = { count: 0 }
      const { client, cancels } = await connectPair(which, { call: asking(runs) })
      const engine = calling(await mcpTools(client, options))
      const { session } = await Session.start(engine, 'go')
      expect(session.pendingQuestion).toBe('Which seat?')
      await client.ping()
      expect([runs.count, cancels()]).toEqual([1, 1])
      const { session: after } = await Session.reply(engine, session, 'aisle')
      expect(after.thread.messages[2]?.content).toBe('accept {"seat":"aisle"}')
      expect([runs.count, cancels()]).toEqual([2, 1])
    })

    /** The same session in another process: another client, and tools that remember nothing. */
    const elsewhere = async (options: McpToolsOptions) => {
      const runs = { count: 0 }
      const call = asking(runs)
      const here = await connectPair(which, { call })
      const { session } = await Session.start(calling(await mcpTools(here.client, options)), 'go')
      const there = await connectPair(which, { call })
      const tools = await mcpTools(there.client, options)
      const engine = createEngine({ adapter: fake({ script: [['text', 'done']] }), tools })
      const text = Session.stringify(session)
      const { session: after } = await Session.reply(engine, Session.parse(text), 'aisle')
      return [after.thread.messages[2]?.content, runs.count]
    }

    test('that is answered after a crash is answered as interrupted, and the call is not made again', async () => {
      expect(await elsewhere({})).toEqual([
        '{"error":"the question to the user was interrupted before the call had a result; it may have taken effect"}',
        1,
      ])
    })

    test('that is answered after a crash is asked and answered again, if the call may be repeated', async () => {
      expect(await elsewhere({ repeatOnElicitation: true })).toEqual(['accept {"seat":"aisle"}', 2])
    })

    test('stays open until its deadline, and then cancels the call', async () => {
      const clock = virtualClock({ auto: false })
      const answers: unknown[] = []
      const stopped = gate()
      const { client, cancels } = await connectPair(which, {
        call: async ({ elicit, signal }) => {
          aborted(signal).then(stopped.open, () => undefined)
          answers.push(
            await elicit({ message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }),
          )
          return said('late')
        },
      })
      const engine = calling(await mcpTools(client, { clock, elicitationTimeoutMs: 1000 }))
      const { session } = await Session.start(engine, 'go')
      await clock.advance(999)
      expect(cancels()).toBe(0)
      await clock.advance(1)
      await stopped.opened
      expect(cancels()).toBe(1)
      expect(clock.pending).toBe(0)
      const { session: after } = await Session.reply(engine, session, 'yes')
      expect(after.thread.messages[2]?.content).toContain('interrupted')
    })

    test('of one call is not taken for that of another', async () => {
      const { client } = await connectPair(which, {
        list: () => ({ tools: [listed('a'), listed('b'), listed('c')] }),
        call: async ({ name, elicit }) => {
          if (name === 'b') return said('b needs nothing')
          const { content } = await elicit({
            message: `${name}?`,
            requestedSchema: { type: 'object', properties: { it: { type: 'string' } } },
          })
          return said(`${name} ${JSON.stringify(content)}`)
        },
      })
      const engine = calling(await mcpTools(client), ['a', 'b', 'c'])
      const first = await Session.start(engine, 'go')
      expect(first.session.pendingQuestion).toBe('a?')
      const second = await Session.reply(engine, first.session, 'A')
      expect(second.session.pendingQuestion).toBe('c?')
      const { session } = await Session.reply(engine, second.session, 'C')
      expect(session.thread.messages.slice(2, 5).map(({ content }) => content)).toEqual([
        'a {"it":"A"}',
        'b needs nothing',
        'c {"it":"C"}',
      ])
    })

    test('that no call can have asked is cancelled', async () => {
      const { client } = await connectPair(which, { call: asking({ count: 0 }) })
      await mcpTools(client)
      // The tools have not been called yet, so nothing listens; after a call something does.
      const tools = await mcpTools(client)
      await Session.start(calling(tools, ['act']), 'go')
      const result = await client.callTool({ name: 'act', arguments: {} })
      expect(result).toMatchObject({ content: [{ text: 'cancel undefined' }] })
    })

    test('goes to the handler of the user if there is one', async () => {
      const { client } = await connectPair(which, { call: asking({ count: 0 }) })
      const answer = async (): Promise<object> => ({ action: 'accept', content: { seat: 'aisle' } })
      await handleQuestions(client, answer)
      const { thread } = await chat(calling(await mcpTools(client)), 'go')
      expect(thread.messages[2]?.content).toBe('accept {"seat":"aisle"}')
    })
  })

  test('a client that cannot be asked runs calls side by side', async () => {
    const both = gate()
    let running = 0
    const { client } = await connectPair(
      which,
      {
        call: async () => {
          if (++running === 2) both.open()
          await both.opened
          return said('done')
        },
      },
      {},
    )
    const { thread } = await chat(calling(await mcpTools(client), ['act', 'act']), 'go')
    expect(thread.messages.slice(2, 4).map(({ content }) => content)).toEqual(['done', 'done'])
  })
})

describe('the protocol of 2026-07-28, where a question is a result', () => {
  /** A server that asks once, or is told the answer, and its client. */
  async function modernPair(calls: unknown[]): Promise<NewClient> {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const factory = () => {
      const server = new McpServer({ name: 'test', version: '1.0.0' })
      server.registerTool('act', {}, (ctx) => {
        const { inputResponses, requestState } = ctx.mcpReq
        calls.push(inputResponses)
        if (inputResponses !== undefined) {
          return {
            content: [
              { type: 'text', text: `${JSON.stringify(inputResponses)} ${String(requestState())}` },
            ],
          }
        }
        const requestedSchema = {
          type: 'object' as const,
          properties: { seat: { type: 'string' as const } },
        }
        const seat = inputRequired.elicit({ message: 'Which seat?', requestedSchema })
        return inputRequired({ inputRequests: { seat }, requestState: 'state' })
      })
      return server
    }
    serveStdio(factory, { transport: far })
    const client = new NewClient(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    await client.connect(near)
    return client
  }

  test.each([
    ['the call goes on with the answer', {}, 2],
    ['a call that may be repeated is', { repeatOnElicitation: true }, 3],
  ])('%s', async (_title, options, count) => {
    const calls: unknown[] = []
    const engine = calling(await mcpTools(await modernPair(calls), options))
    const { session } = await Session.start(engine, 'go')
    expect(session.pendingQuestion).toBe('Which seat?')
    const { session: after } = await Session.reply(engine, session, 'aisle')
    const answered = { seat: { action: 'accept', content: { seat: 'aisle' } } }
    expect(after.thread.messages[2]?.content).toBe(`${JSON.stringify(answered)} state`)
    expect(calls).toHaveLength(count)
  })
})

/** Registers a handler of the user's own. */
async function handleQuestions(client: object, answer: () => Promise<object>): Promise<void> {
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
  const set: unknown = Reflect.get(client, 'setRequestHandler')
  const isNew = 'getProtocolEra' in client
  if (typeof set === 'function')
    set.call(client, isNew ? 'elicitation/create' : ElicitRequestSchema, answer)
}

test('a flood of progress that nobody reads is cut', async () => {
  const client = plainClient(
    [listed('act')],
    async (_params, options: { onprogress(data: object): void }) => {
      for (let at = 0; at < 100_000; at++) options.onprogress({ progress: at })
      return said('done')
    },
  )
  const events = await collectEvents(streamChat(calling(await mcpTools(client)), 'go'))
  expect(events.filter(({ type }) => type === 'tool_progress')).toHaveLength(100)
})
