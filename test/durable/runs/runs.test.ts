import { describe, expect, test, vi } from 'vitest'
import {
  costOf,
  createEngine,
  messageText,
  SessionError,
  StreamError,
  tool,
  ValidationError,
  type Clock,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore, type LogEntry, type RunStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { bench, scriptedEngine, toolsOf, typesOf } from './support.ts'

const echo = scriptedEngine((text) => [['text', `You said: ${text}`]])

test('a command that is not legal is refused in the words of runs', async () => {
  const { runs } = bench(echo)
  await runs.send('ada', 'Hello')
  await runs.wait('ada')
  await expect(runs.resume('ada')).rejects.toMatchObject({
    reason: 'illegal_status',
    message: 'runs.resume is not legal while the session is completed; legal now: runs.send',
    metadata: { status: 'completed', operation: 'resume' },
  })
})

test('a function of engines that returns none is named', async () => {
  await using runs = createRuns({ engine: () => undefined as never, store: memoryStore() })
  await runs.send('ada', 'Hello')
  const { session } = await runs.wait('ada')
  expect(session.error).toMatchObject({
    reason: 'invalid_engine',
    message:
      'what the engine function of createRuns returned (undefined) must be an engine made by createEngine',
  })
})

describe('a message', () => {
  test('makes a session, and its run is in the log', async () => {
    const { runs, store } = bench(echo)
    expect(await runs.get('ada')).toBeUndefined()
    expect(await runs.send('ada', 'Hello')).toEqual({ lastEventId: 0, duplicate: false })
    // The words are in the thread when `send` resolves.
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.thread.messages[0]).toMatchObject({ role: 'user', content: 'Hello' })
    const rested = await runs.wait('ada')
    expect(rested.session.status).toBe('completed')
    expect(rested.result.outputText).toBe('You said: Hello')
    const ids: number[] = []
    for await (const { id, at } of runs.follow('ada')) {
      ids.push(id)
      expect(at).toBeTypeOf('number')
    }
    expect(ids).toEqual(ids.map((_id, at) => at + 1))
    expect(await runs.get('ada')).toMatchObject({ running: false, lastEventId: ids.length })
    expect((await store.load('ada'))?.lastEventId).toBe(ids.length)
  })

  test('goes on with a session, and answers its question', async () => {
    const engine = scriptedEngine(
      (text, results) =>
        text.includes('seat') && results === 0
          ? [['tool_call', { id: 'c1', name: 'seat', arguments: {} }]]
          : [['text', `Booked after ${results}`]],
      { tools: toolsOf([]) },
    )
    const { runs } = bench(engine)
    await runs.send('ada', 'A seat, please')
    expect((await runs.wait('ada')).session).toMatchObject({
      status: 'awaiting_user',
      pendingQuestion: 'Which seat?',
    })
    const { lastEventId } = await runs.send('ada', '14C')
    const { session, result } = await runs.wait('ada')
    expect(session.status).toBe('completed')
    expect(result.outputText).toBe('Booked after 1')
    // Only what came of the answer.
    expect(await typesOf(runs, 'ada', lastEventId)).toContain('chat_completed')
    expect(await typesOf(runs, 'ada', lastEventId)).not.toContain('ask_user_requested')
  })

  test('with a key that came before has no effect, also when it would be refused now', async () => {
    const { runs } = bench(echo)
    await runs.send('ada', 'Hello', { idempotencyKey: 'k' })
    expect(await runs.send('ada', 'Hello', { idempotencyKey: 'k' })).toMatchObject({
      duplicate: true,
    })
    const { session } = await runs.wait('ada')
    expect(session.thread.messages).toHaveLength(2)
  })

  test('with a key that came before with other words, or for something else, is refused', async () => {
    const { runs } = bench(echo)
    const key = { idempotencyKey: 'k' }
    await runs.send('ada', 'Hello', key)
    const reused = {
      name: 'SessionError',
      reason: 'key_reused',
      message: expect.stringContaining('the key k came before with another command') as string,
    }
    // Under way, and at rest.
    await expect(runs.send('ada', 'Good bye', key)).rejects.toMatchObject(reused)
    await runs.wait('ada')
    await expect(runs.send('ada', 'Good bye', key)).rejects.toMatchObject(reused)
    await expect(runs.resume('ada', key)).rejects.toMatchObject(reused)
    await expect(runs.approve('ada', 'c1', key)).rejects.toMatchObject(reused)
    await expect(runs.deny('ada', 'c1', 'no', key)).rejects.toMatchObject(reused)
    await expect(runs.submitToolResult('ada', 'c1', 1, key)).rejects.toMatchObject(reused)
    const { session } = await runs.wait('ada')
    expect(session.thread.messages).toHaveLength(2)
    // What the service adds to the words is not the client's.
    const again = { ...key, context: { now: 1 }, metadata: { request: 'r2' } }
    expect(await runs.send('ada', 'Hello', again)).toMatchObject({ duplicate: true })
    expect(await runs.send('bob', 'Good bye', key)).toMatchObject({ duplicate: false })
  })

  test('adds to the context and the metadata of the session', async () => {
    const contexts: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: (_args, { context }) => {
        contexts.push(context)
        return 'seen'
      },
    })
    const engine = scriptedEngine(
      (_text, results) =>
        results === 0
          ? [['tool_call', { id: 'c', name: 'look', arguments: {} }]]
          : [['text', 'ok']],
      { tools: [look], context: { shop: 1 } },
    )
    const { runs } = bench(engine)
    await runs.send('ada', 'one', { context: { user: 'ada' }, metadata: { tenant: 't1' } })
    await runs.wait('ada')
    await runs.send('ada', 'two', { context: { role: 'admin' } })
    await runs.wait('ada')
    expect(contexts).toEqual([
      { shop: 1, user: 'ada' },
      { shop: 1, user: 'ada', role: 'admin' },
    ])
    expect(await runs.list({ metadata: { tenant: 't1' } })).toMatchObject([{ id: 'ada' }])
    expect(await runs.list({ metadata: { tenant: 't2' } })).toEqual([])
  })

  test.each(['refuse', 'interrupt'] as const)(
    'that answers a question which a run under way has asked waits for it (%s)',
    async (whenBusy) => {
      const slow = tool({
        name: 'slow',
        description: 'Slow.',
        schema: { type: 'object' },
        handler: async (_args, { engine }) => {
          await (engine as unknown as { clock: Clock }).clock.sleep(20_000)
          return 'slow is done'
        },
      })
      const engine = scriptedEngine(
        (text, results) =>
          text.includes('seat') && results === 0
            ? [
                ['tool_call', { id: 'c1', name: 'seat', arguments: {} }],
                ['tool_call', { id: 'c2', name: 'slow', arguments: {} }],
              ]
            : [['text', `Booked after ${results}`]],
        { tools: [...toolsOf([]), slow] },
      )
      const { runs } = bench(engine, { whenBusy })
      await runs.send('ada', 'A seat, please')
      for await (const { event } of runs.follow('ada')) {
        if (event.type !== 'ask_user_requested') continue
        // It is on the page by now, and the other tool still runs.
        await runs.send('ada', '14C')
        // The same words again are not an answer any more.
        if (whenBusy === 'refuse') {
          await expect(runs.send('ada', '14C')).rejects.toMatchObject({ reason: 'busy' })
        }
        break
      }
      const { session } = await runs.wait('ada')
      expect(session.thread.messages.map(messageText)).toEqual([
        'A seat, please',
        '',
        '{"question":"Which seat?","answer":"14C"}',
        'slow is done',
        'Booked after 2',
      ])
    },
  )

  test('that answers a question is taken when a decision waits before it', async () => {
    const engine = scriptedEngine(
      (_text, results) =>
        results === 0
          ? [
              ['tool_call', { id: 'c1', name: 'seat', arguments: {} }],
              ['tool_call', { id: 'c2', name: 'refund', arguments: { euros: 3 } }],
            ]
          : [['text', `Done after ${results}`]],
      { tools: toolsOf([]) },
    )
    const { runs, store } = bench(engine)
    await runs.send('ada', 'A seat and my money')
    await runs.wait('ada')
    // A process that runs nothing: what it is given waits for the other one.
    await using web = createRuns({ engine, store, execute: false })
    await web.approve('ada', 'c2')
    await web.send('ada', '14C')
    await expect(web.send('ada', 'and more')).rejects.toMatchObject({ reason: 'busy' })
    await runs.recover()
    expect((await runs.wait('ada')).result.outputText).toBe('Done after 2')
  })

  test('while a run is under way is refused, waits its turn, or stops the run', async () => {
    const engine = scriptedEngine((text) => [
      ['text', 'slow '],
      ['delay', 30_000],
      ['text', `about ${text}`],
    ])
    const refusing = bench(engine)
    await refusing.runs.send('ada', 'one')
    await expect(refusing.runs.send('ada', 'two')).rejects.toMatchObject({ reason: 'busy' })
    expect((await refusing.runs.wait('ada')).session.thread.messages).toHaveLength(2)

    const queueing = bench(engine, { whenBusy: 'queue' })
    await queueing.runs.send('ada', 'one')
    await queueing.runs.send('ada', 'two')
    const queued = await queueing.runs.wait('ada')
    expect(queued.session.thread.messages.map(messageText)).toEqual([
      'one',
      'slow about one',
      'two',
      'slow about two',
    ])

    const interrupting = bench(engine, { whenBusy: 'interrupt' })
    await interrupting.runs.send('ada', 'one')
    await interrupting.runs.send('ada', 'two')
    const { session } = await interrupting.runs.wait('ada')
    expect(session.status).toBe('completed')
    const texts = session.thread.messages.map(messageText)
    expect(texts).toContain('one')
    expect(texts.at(-1)).toBe('slow about two')
    expect(texts).not.toContain('slow about one')
  })
})

describe('what waits for somebody', () => {
  const engine = (effects: string[] = []) =>
    scriptedEngine(
      (_text, results) =>
        results === 0
          ? [
              ['tool_call', { id: 'c1', name: 'refund', arguments: { euros: 40 } }],
              ['tool_call', { id: 'c2', name: 'inspect', arguments: {} }],
            ]
          : [['text', `Read ${results} results`]],
      { tools: toolsOf(effects) },
    )

  test('goes on by itself when nothing is pending any more', async () => {
    const effects: string[] = []
    const { runs } = bench(engine(effects))
    await runs.send('ada', 'Money back')
    expect((await runs.wait('ada')).session).toMatchObject({
      status: 'awaiting_approval',
      pendingApprovals: [{ id: 'c1' }],
      pendingToolCalls: [{ id: 'c2' }],
    })
    await runs.approve('ada', 'c1', { arguments: { euros: 30 } })
    expect((await runs.wait('ada')).session.status).toBe('awaiting_tools')
    await runs.submitToolResult('ada', 'c2', { broken: true })
    const { session, result } = await runs.wait('ada')
    expect(session.status).toBe('completed')
    expect(result.outputText).toBe('Read 2 results')
    expect(effects).toEqual(['refund:{"euros":30}'])
    // Applied once: a second answer is not legal.
    await expect(runs.approve('ada', 'c1')).rejects.toThrow(SessionError)
    await expect(runs.submitToolResult('ada', 'c2', 1)).rejects.toThrow(SessionError)
  })

  test('arguments that do not fit are refused, and the call waits on', async () => {
    const effects: string[] = []
    const { runs } = bench(engine(effects))
    await runs.send('ada', 'Money back')
    await runs.wait('ada')
    await expect(runs.approve('ada', 'c1', { arguments: { euros: 'many' } })).rejects.toThrow(
      ValidationError,
    )
    const { session } = await runs.wait('ada')
    expect(session.pendingApprovals).toMatchObject([{ id: 'c1' }])
    await runs.deny('ada', 'c1', 'too late')
    await runs.submitToolResult('ada', 'c2', 'fine', { isError: false })
    expect((await runs.wait('ada')).session.status).toBe('completed')
    expect(effects).toEqual([])
  })

  test('a process that runs nothing checks arguments too', async () => {
    const { runs, store, clock } = bench(engine())
    await runs.send('ada', 'Money back')
    await runs.wait('ada')
    const web = createRuns({ engine: engine(), store, clock, execute: false })
    await expect(web.approve('ada', 'c1', { arguments: { euros: 'many' } })).rejects.toThrow(
      ValidationError,
    )
    expect(await store.readInbox('ada')).toEqual([])
  })

  test('a command that is not legal any more is removed, and the log says why', async () => {
    const { runs, store } = bench(engine(), { execute: false })
    await runs.send('ada', 'Money back')
    expect(await runs.get('ada')).toMatchObject({
      running: true,
      version: 0,
      session: { status: 'idle', thread: { messages: [] } },
    })
    await runs.advance('ada')
    // Two people answer at the same moment.
    await store.push('ada', { type: 'deny', toolCallId: 'c1' })
    await store.push('ada', { type: 'approve', toolCallId: 'c1' })
    expect(await runs.advance('ada')).toMatchObject({ outcome: 'awaiting_tools', more: false })
    const log: unknown[] = []
    for await (const entry of runs.follow('ada', { commands: true })) {
      if ('command' in entry) log.push([entry.id, entry.command.type, entry.refused?.reason])
    }
    expect(log).toEqual([
      [1, 'send', undefined],
      [2, 'deny', undefined],
      [3, 'approve', 'already_decided'],
    ])
    expect(await store.readInbox('ada')).toEqual([])
  })

  test('an unknown session or call is refused before anything is stored', async () => {
    const { runs, store } = bench(engine())
    for (const refused of [
      runs.approve('nobody', 'c1'),
      runs.deny('nobody', 'c1'),
      runs.submitToolResult('nobody', 'c1', 1),
      runs.resume('nobody'),
      runs.wait('nobody'),
    ]) {
      await expect(refused).rejects.toMatchObject({ name: 'SessionError' })
    }
    expect(await store.list()).toEqual([])
    expect(await store.readEvents('nobody', {})).toEqual([])
    await runs.send('ada', 'Money back')
    await runs.wait('ada')
    await expect(runs.approve('ada', 'c9')).rejects.toMatchObject({
      reason: 'unknown_tool_call_id',
    })
    await expect(runs.resume('ada')).rejects.toMatchObject({ reason: 'illegal_status' })
  })
})

describe('stop', () => {
  const slow = scriptedEngine((text) => [
    ['text', `half of ${text}`],
    ['delay', 30_000],
    ['text', 'the rest'],
  ])

  test('comes from any process, and what was there stays', async () => {
    const { runs, store, clock } = bench(slow)
    const other = createRuns({ engine: slow, store, clock, execute: false })
    await runs.send('ada', 'one')
    for await (const { event } of other.follow('ada')) {
      if (event.type === 'text_delta') await other.stop('ada')
    }
    const { session } = (await runs.get('ada')) ?? {}
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    expect(session?.thread.messages.map(messageText)).toEqual(['one', 'half of one'])
    expect((await typesOf(runs, 'ada')).at(-1)).toBe('error')
    // It goes on when it is told to.
    await runs.resume('ada')
    expect((await runs.wait('ada')).result.outputText).toBe('half of onethe rest')
  })

  test('of a run that has not begun keeps the words and asks nobody', async () => {
    const { runs } = bench(slow, { execute: false })
    await runs.send('ada', 'one')
    await runs.stop('ada')
    expect(await runs.advance('ada')).toEqual({ outcome: 'halted', more: false })
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.thread.messages.map(messageText)).toEqual(['one'])
  })

  test('at rest does nothing', async () => {
    const { runs } = bench(echo)
    await runs.stop('ada')
    await runs.send('ada', 'one')
    expect((await runs.wait('ada')).session.status).toBe('completed')
    await runs.stop('ada')
    await runs.send('ada', 'two')
    expect((await runs.wait('ada')).session.status).toBe('completed')
  })
})

describe('the log', () => {
  test('has text at most saveEveryMs late, and the session is written at boundaries only', async () => {
    const engine = scriptedEngine(() =>
      Array.from({ length: 20 }, () => [
        ['text', 'words '] as const,
        ['delay', 100] as const,
      ]).flat(),
    )
    const calls: string[] = []
    const clock = virtualClock()
    const store = memoryStore({ clock })
    const counting: RunStore = {
      ...store,
      save: (session, options) => {
        calls.push('save')
        return store.save(session, options)
      },
      append: (id, events, options) => {
        calls.push(`append ${events.length}`)
        return store.append(id, events, options)
      },
    }
    const { runs } = bench(engine, { store: counting, clock, saveEveryMs: 250 })
    await runs.send('ada', 'go')
    await runs.wait('ada')
    // The words, the end of the answer, the end of the run.
    expect(calls.filter((call) => call === 'save').length).toBeLessThanOrEqual(3)
    expect(calls.filter((call) => call.startsWith('append')).length).toBeGreaterThan(5)
    expect(calls.filter((call) => call.startsWith('append')).length).toBeLessThanOrEqual(9)
  })

  test('has every event, whatever the engine hides', async () => {
    const engine = scriptedEngine(() => [['text', 'words']], {
      emitTextDeltas: false,
      emitToolDeltas: false,
    })
    const { runs } = bench(engine)
    await runs.send('ada', 'go')
    expect(await typesOf(runs, 'ada')).toContain('text_delta')
  })

  test('can be followed from anywhere, and nothing is skipped or repeated', async () => {
    const engine = scriptedEngine(() =>
      Array.from({ length: 10 }, (_one, at) => [
        ['text', `${at}`] as const,
        ['delay', 300] as const,
      ]).flat(),
    )
    const { runs, store, clock } = bench(engine)
    const other = createRuns({ engine, store, clock, execute: false })
    await runs.send('ada', 'go')
    const all: StreamEvent[] = []
    for await (const { event } of runs.follow('ada')) all.push(event)
    for (let after = 0; after <= all.length; after++) {
      const rest: StreamEvent[] = []
      for await (const { event } of other.follow('ada', { after })) rest.push(event)
      expect(rest).toEqual(all.slice(after))
    }
    const beyond = other.follow('ada', { after: all.length + 1 })
    await expect(beyond[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason: 'stale' })
  })

  test('is followed with its commands from where it was left, by the last event and the last command', async () => {
    const { runs, store } = bench(echo, { execute: false })
    for (const words of ['one', 'two']) {
      await runs.send('ada', words)
      await runs.advance('ada')
    }
    // A command that is refused at the end: no event comes after it.
    await store.push('ada', { type: 'approve', toolCallId: 'c1' })
    await runs.advance('ada')
    const all: LogEntry[] = []
    for await (const entry of runs.follow('ada', { commands: true })) all.push(entry)
    const places = all.map((entry) => ('event' in entry ? 'event' : entry.command.type))
    expect(places.filter((place) => place !== 'event')).toEqual(['send', 'send', 'approve'])
    expect(places.at(-1)).toBe('approve')
    let after = 0
    let afterCommand = 0
    for (const [at, entry] of all.entries()) {
      if ('event' in entry) after = entry.id
      else afterCommand = entry.id
      const rest: LogEntry[] = []
      const options = { commands: true, after, afterCommand } as const
      for await (const later of runs.follow('ada', options)) rest.push(later)
      expect(rest).toEqual(all.slice(at + 1))
    }
    const beyond = runs.follow('ada', { commands: true, afterCommand: afterCommand + 1 })
    await expect(beyond[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason: 'stale' })
  })

  test('of an unknown session is refused, as a wait for it is', async () => {
    const { runs } = bench(echo)
    const unknown = { kind: 'session', reason: 'illegal_status', metadata: { id: 'nobody' } }
    const log = runs.follow('nobody')[Symbol.asyncIterator]()
    await expect(log.next()).rejects.toMatchObject(unknown)
    await expect(runs.wait('nobody')).rejects.toMatchObject(unknown)
  })

  test('ends for a follower whose signal is aborted, and a wait rejects as cancelled', async () => {
    const { runs } = bench(echo, { execute: false })
    await runs.send('ada', 'go')
    const control = new AbortController()
    const log = runs.follow('ada', { signal: control.signal })[Symbol.asyncIterator]()
    const next = log.next()
    const waited = runs.wait('ada', { signal: control.signal }).catch((error: unknown) => error)
    const why = new Error('the deadline of the request')
    control.abort(why)
    expect(await next).toMatchObject({ done: true })
    const error = await waited
    expect(error).toBeInstanceOf(StreamError)
    expect(error).toMatchObject({ reason: 'cancelled', cause: why })
    const late = runs.wait('ada', { signal: control.signal })
    await expect(late).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  })

  test('a follower that never reads costs nothing, and one that leaves stops listening', async () => {
    const listeners = { now: 0 }
    const clock = virtualClock()
    const inner = memoryStore({ clock })
    const store: RunStore = {
      ...inner,
      watch: (id, listener) => {
        listeners.now++
        const unwatch = inner.watch(id, listener)
        return () => {
          listeners.now--
          unwatch()
        }
      },
    }
    const { runs } = bench(echo, { store, clock })
    runs.follow('ada')[Symbol.asyncIterator]()
    await runs.send('ada', 'go')
    for await (const entry of runs.follow('ada')) if (entry.id > 0) break
    const control = new AbortController()
    const aborted = runs.follow('ada', { signal: control.signal })
    control.abort()
    expect(await aborted[Symbol.asyncIterator]().next()).toMatchObject({ done: true })
    await runs.wait('ada')
    expect(listeners.now).toBe(0)
    expect(clock.pending).toBe(0)
  })

  test('is pruned with its runs, and a follower that missed something is told', async () => {
    const { runs, store, clock } = bench(echo, { keepEventsMs: 1000 })
    await runs.send('ada', 'one')
    await runs.wait('ada')
    const { lastEventId = 0 } = (await runs.get('ada')) ?? {}
    await clock.advance(5000)
    await runs.send('ada', 'two')
    await runs.wait('ada')
    expect(await store.prune({ keepMs: 1000 })).toBe(1)
    const late = runs.follow('ada', { after: 1 })
    await expect(late[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason: 'stale' })
    const ids: number[] = []
    for await (const { id } of runs.follow('ada')) ids.push(id)
    expect(ids[0]).toBe(lastEventId + 1)
    expect((await runs.get('ada'))?.session.thread.messages).toHaveLength(4)
  })
})

describe('failures', () => {
  test('before the first event are in the log and in the session, with the words of the user', async () => {
    const engine = scriptedEngine(() => [['error', 'authentication_failed']])
    const { runs } = bench(engine)
    await runs.send('ada', 'one')
    const { session, result } = await runs.wait('ada')
    expect(session).toMatchObject({ status: 'error', error: { reason: 'authentication_failed' } })
    expect(session.thread.messages.map(messageText)).toEqual(['one'])
    expect(result.haltedReason).toBe('error')
    expect((await typesOf(runs, 'ada')).at(-1)).toBe('error')
  })

  test('of the engine itself rest as an error, and are not tried for ever', async () => {
    for (const engine of [
      createEngine(),
      () => {
        throw new Error('no such tenant')
      },
      () => Promise.reject(new Error('no such tenant')),
    ]) {
      const { runs } = bench(engine)
      await runs.send('ada', 'one')
      const { session } = await runs.wait('ada')
      expect(session.status).toBe('error')
      expect(session.thread.messages.map(messageText)).toEqual(['one'])
      expect(await typesOf(runs, 'ada')).toEqual(['error'])
    }
  })

  test('an approved call whose tool this process does not have rests as an error, until one that has it resumes', async () => {
    const effects: string[] = []
    const engineOf = (tools: readonly Tool[]) =>
      scriptedEngine(
        (text) =>
          text === 'Money back'
            ? [['tool_call', { id: 'c1', name: 'refund', arguments: { euros: 40 } }]]
            : [['text', 'Your money is on its way.']],
        { tools },
      )
    const { runs: before, store, clock } = bench(engineOf(toolsOf(effects)), { execute: false })
    await before.send('ada', 'Money back')
    await before.recover()
    await before.approve('ada', 'c1', { arguments: { euros: 30 } })

    const renamed = toolsOf(effects).filter(({ name }) => name !== 'refund')
    const { runs: after } = bench(engineOf(renamed), { store, clock, execute: false })
    expect(await after.recover()).toBe(1)
    const failed = await after.get('ada')
    expect(failed).toMatchObject({
      running: false,
      session: {
        status: 'error',
        error: { reason: 'unknown_tool', metadata: { toolName: 'refund', toolCallId: 'c1' } },
      },
    })
    expect(await after.recover()).toBe(0)
    expect((await typesOf(after, 'ada')).at(-1)).toBe('error')
    // Words do not lose it either.
    await after.send('ada', 'And?')
    await after.recover()
    expect((await after.get('ada'))?.session.error?.reason).toBe('unknown_tool')
    expect(effects).toEqual([])

    await before.resume('ada')
    await before.recover()
    expect((await before.wait('ada')).session.status).toBe('completed')
    expect(effects).toEqual(['refund:{"euros":30}'])
  })

  test('that are worth another attempt much later hold no process, and attempts are counted', async () => {
    const at: number[] = []
    const clock = virtualClock()
    const adapter = fake({
      script: () => {
        at.push(clock.now())
        return at.length < 3
          ? [['error', 'rate_limited', { retryAfterMs: 1_200_000 }]]
          : [['text', 'at last']]
      },
    })
    const { runs, store } = bench(createEngine({ adapter, clock }), { clock })
    await runs.send('ada', 'one')
    const { session, result } = await runs.wait('ada')
    expect(session.status).toBe('completed')
    expect(result.outputText).toBe('at last')
    expect(at.map((time) => Math.round(time / 1_200_000))).toEqual([0, 1, 2])
    expect(await store.look('ada')).toMatchObject({ running: false })
    // Nothing that was only put off is in the log.
    expect(await typesOf(runs, 'ada')).not.toContain('error')
  })

  test('run out of attempts across wake-ups', async () => {
    let calls = 0
    const clock = virtualClock()
    const adapter = fake({
      script: () => {
        calls++
        return [['error', 'rate_limited', { retryAfterMs: 60_000 }]]
      },
    })
    const { runs } = bench(createEngine({ adapter, retry: { maxAttempts: 4, jitterMs: 0 } }), {
      clock,
    })
    await runs.send('ada', 'one')
    const { session } = await runs.wait('ada')
    expect(session).toMatchObject({ status: 'error', error: { reason: 'rate_limited' } })
    expect(calls).toBe(4)
  })

  test('while it waits, the session is running, owned by nobody, and can be stopped', async () => {
    const adapter = fake({ script: [['error', 'rate_limited', { retryAfterMs: 60_000 }]] })
    const { runs, store, clock } = bench(
      createEngine({ adapter, retry: { jitterMs: 0 } }),
      { execute: false },
      false,
    )
    await runs.send('ada', 'one')
    expect(await runs.advance('ada')).toEqual({ outcome: 'idle', wakeInMs: 60_000, more: false })
    expect(await store.look('ada')).toMatchObject({ running: true, dueAt: 60_000 })
    expect((await store.look('ada'))?.owner).toBeUndefined()
    // Too early: it is given back as it is.
    await clock.advance(1000)
    expect(await runs.advance('ada')).toEqual({ outcome: 'idle', wakeInMs: 59_000, more: false })
    expect(await store.due({ limit: 9 })).toEqual([])
    await runs.stop('ada')
    expect(await store.due({ limit: 9 })).toEqual(['ada'])
    expect(await runs.advance('ada')).toEqual({ outcome: 'halted', more: false })
  })
})

describe('one owner', () => {
  test('an owner that was paused for longer than its lease changes nothing', async () => {
    const effects: string[] = []
    const answer = (_text: string, results: number) =>
      results === 0
        ? ([['tool_call', { id: 'c1', name: 'charge', arguments: {} }]] as const)
        : ([['text', 'done']] as const)
    const clock = virtualClock()
    const store = memoryStore({ clock })
    let release = (): void => undefined
    const paused = new Promise<void>((resolve) => {
      release = resolve
    })
    // The first process stands still in its save of the tool's start.
    const first = createRuns({
      engine: scriptedEngine(answer, { tools: toolsOf(effects) }),
      clock: virtualClock({ auto: false }),
      store: {
        ...store,
        save: async (session, options) => {
          const starts = options?.events?.some(({ type }) => type === 'tool_execution_started')
          if (starts === true) await paused
          return store.save(session, options)
        },
      },
      execute: false,
    })
    await first.send('ada', 'go')
    const lost = first.advance('ada')
    await clock.advance(11_000)
    const second = createRuns({
      engine: scriptedEngine(answer, { tools: toolsOf(effects) }),
      clock,
      store,
    })
    expect(await second.recover()).toBe(1)
    expect((await second.get('ada'))?.session.status).toBe('completed')
    release()
    expect(await lost).toEqual({ outcome: 'lost', more: false })
    expect(effects).toEqual(['charge:c1'])
    expect((await second.get('ada'))?.session.status).toBe('completed')
  })

  test('an owner that was paused between the stored start of a tool and its handler does not run it', async () => {
    const effects: string[] = []
    const answer = (_text: string, results: number) =>
      results === 0
        ? ([['tool_call', { id: 'c1', name: 'charge', arguments: {} }]] as const)
        : ([['text', 'done']] as const)
    const engine = scriptedEngine(answer, { tools: toolsOf(effects) })
    const clock = virtualClock()
    const store = memoryStore({ clock })
    let release = (): void => undefined
    const paused = new Promise<void>((resolve) => {
      release = resolve
    })
    // The save arrives, but the process stands still before it gets the answer. Its timers do not fire before it goes on.
    const still = virtualClock({ auto: false })
    let stoodMs = 0
    const first = createRuns({
      engine,
      clock: { now: () => still.now() + stoodMs, sleep: (ms) => still.sleep(ms) },
      store: {
        ...store,
        save: async (session, options) => {
          const version = await store.save(session, options)
          const starts = options?.events?.some(({ type }) => type === 'tool_execution_started')
          if (starts === true) await paused
          return version
        },
      },
      execute: false,
    })
    await first.send('ada', 'go')
    const lost = first.advance('ada')
    await clock.advance(11_000)
    const second = createRuns({ engine, clock, store })
    expect(await second.recover()).toBe(1)
    stoodMs = 11_000
    release()
    expect(await lost).toEqual({ outcome: 'lost', more: false })
    // The model was told that the call was interrupted, and so it was.
    expect(effects).toEqual([])
    expect((await second.get('ada'))?.session.status).toBe('completed')
  })

  test('a session that somebody owns is busy for others', async () => {
    const { runs, store, clock } = bench(echo, { execute: false })
    await runs.send('ada', 'go')
    await store.acquire('ada', { owner: 'somebody', ttlMs: 10_000 })
    expect(await runs.advance('ada')).toEqual({ outcome: 'busy', more: false })
    await clock.advance(10_001)
    expect(await runs.advance('ada')).toEqual({ outcome: 'completed', more: false })
  })

  test('a session that is deleted stops its run', async () => {
    const slow = scriptedEngine(() => [
      ['text', 'half'],
      ['delay', 30_000],
      ['text', 'rest'],
    ])
    const { runs, store } = bench(slow)
    await runs.send('ada', 'go')
    await runs.delete('ada')
    await runs.close()
    expect(await store.list()).toEqual([])
    expect(await store.look('ada')).toBeUndefined()
  })
})

describe('close', () => {
  test('saves a run as it is, and another owner goes on', async () => {
    let call = 0
    const clock = virtualClock()
    const adapter = fake({
      script: () =>
        call++ === 0
          ? [
              ['text', 'half'],
              ['delay', 30_000],
              ['text', ' never'],
            ]
          : [['text', 'whole']],
    })
    const engine = createEngine({ adapter, clock })
    const { runs, store } = bench(engine, { clock })
    await runs.send('ada', 'go')
    for await (const { event } of runs.follow('ada')) if (event.type === 'text_delta') break
    await runs.close()
    expect((await store.load('ada'))?.session).toMatchObject({ status: 'idle' })
    expect(await store.due({ limit: 1 })).toEqual(['ada'])
    await expect(runs.send('ada', 'more')).rejects.toMatchObject({ reason: 'unavailable' })
    const next = createRuns({ engine, store, clock })
    expect(await next.recover()).toBe(1)
    const { session, result } = await next.wait('ada')
    expect(session.status).toBe('completed')
    expect(result.outputText).toBe('whole')
  })

  test('waits for a tool in flight, and asks the model no more', async () => {
    const clock = virtualClock()
    const done: string[] = []
    const slow = tool({
      name: 'slow',
      description: 'Slow.',
      schema: { type: 'object' },
      handler: async () => {
        await clock.sleep(3000)
        done.push('slow')
        return 'done'
      },
    })
    let calls = 0
    const adapter = fake({
      script: () =>
        calls++ === 0
          ? [['tool_call', { id: 'c', name: 'slow', arguments: {} }]]
          : [['text', 'ok']],
    })
    const { runs, store } = bench(createEngine({ adapter, tools: [slow], clock }), { clock })
    await runs.send('ada', 'go')
    for await (const { event } of runs.follow('ada')) {
      if (event.type === 'tool_execution_started') break
    }
    await runs.close({ drainMs: 5000 })
    expect(done).toEqual(['slow'])
    expect(calls).toBe(1)
    const next = createRuns({
      engine: createEngine({ adapter, tools: [slow], clock }),
      store,
      clock,
    })
    await next.recover()
    expect((await next.wait('ada')).session.status).toBe('completed')
    expect(done).toEqual(['slow'])
  })
})

describe('workers', () => {
  test('advance what is due, a few at once, until they are closed', async () => {
    const { runs, store, clock } = bench(echo, { execute: false })
    const ids = Array.from({ length: 20 }, (_one, at) => `s${at}`)
    for (const id of ids) await runs.send(id, 'Hello')
    expect(await store.due({ limit: 100 })).toHaveLength(20)
    const worker = runs.work({ concurrency: 3 })
    for (const id of ids) expect((await runs.wait(id)).session.status).toBe('completed')
    await worker.close()
    await runs.send('late', 'Hello')
    await clock.advance(60_000)
    expect(await store.due({ limit: 100 })).toEqual(['late'])
    expect(clock.pending).toBe(0)
  })

  test('a command that is repeated rings again while it waits, because its first ring may be lost', async () => {
    const rings: string[] = []
    const queue = {
      ring: async (id: string) => {
        if (rings.push(id) === 1) throw new Error('the queue is gone')
      },
    }
    const { runs } = bench(echo, { queue })
    const send = () => runs.send('ada', 'hi', { idempotencyKey: 'k' })
    expect(await send()).toMatchObject({ duplicate: false })
    expect(await send()).toMatchObject({ duplicate: true })
    expect(rings).toEqual(['ada', 'ada'])
    await runs.advance('ada')
    expect(await send()).toMatchObject({ duplicate: true })
    expect(rings).toHaveLength(2)
  })

  test('a wait that begins while the session is made, in this process or another, waits for its run', async () => {
    const { runs, store, clock } = bench(echo, {}, false)
    const sent = runs.send('ada', 'hi')
    expect(await runs.wait('ada')).toMatchObject({ session: { status: 'completed' } })
    await sent
    const other = createRuns({ engine: echo, store, clock, execute: false })
    // It is made between the look at it and the read.
    const look = vi.spyOn(store, 'look').mockImplementationOnce(async (id: string) => {
      await store.push(id, { type: 'send', content: 'hi' })
      return undefined
    })
    const waiting = other.wait('bob')
    await runs.advance('bob')
    expect(await waiting).toMatchObject({ session: { status: 'completed' } })
    look.mockRestore()
    await expect(other.wait('eve')).rejects.toMatchObject({ metadata: { unknown: true } })
  })

  test('a command that is repeated after its process died is taken over by the one that repeats it', async () => {
    const { runs, store, clock } = bench(echo, {}, false)
    await store.push('ada', { type: 'send', content: 'hi' }, { key: 'k' })
    await store.acquire('ada', { owner: 'dead', ttlMs: runs.leaseMs })
    expect(await runs.send('ada', 'hi', { idempotencyKey: 'k' })).toMatchObject({ duplicate: true })
    await clock.advance(2 * runs.leaseMs)
    expect(await runs.get('ada')).toMatchObject({ session: { status: 'completed' } })
  })

  test.each([
    ['rejects', async () => Promise.reject(new Error('ECONNREFUSED')), 'ECONNREFUSED', 0],
    [
      'throws',
      () => {
        throw new Error('boom')
      },
      'boom',
      0,
    ],
    ['hangs', () => new Promise<void>(() => undefined), 'no answer within 1000 ms', 1000],
  ])(
    'a command is stored although the ring %s, and onError is told',
    async (_how, ring, why, ms) => {
      const told: [unknown, string | undefined][] = []
      const onError = (error: unknown, id?: string): void => void told.push([error, id])
      const { runs, store, clock } = bench(echo, { queue: { ring }, onError }, false)
      const sent = runs.send('ada', 'hi', { idempotencyKey: 'k' })
      await clock.advance(ms)
      expect(await sent).toEqual({ lastEventId: 0, duplicate: false })
      const repeated = runs.send('ada', 'hi', { idempotencyKey: 'k' })
      await clock.advance(ms)
      expect(await repeated).toMatchObject({ duplicate: true })
      const stopped = runs.stop('ada')
      await clock.advance(ms)
      await stopped
      expect(await store.stopRequested('ada')).toBe(true)
      expect(await store.due({ limit: 1 })).toEqual(['ada'])
      expect(told).toHaveLength(3)
      for (const [error, id] of told) {
        expect(id).toBe('ada')
        expect(error).toBeInstanceOf(SessionError)
        expect(error).toMatchObject({ reason: 'unavailable' })
        expect(String(error)).toContain(`is stored, but the queue could not be rung: ${why}`)
      }
      expect(clock.pending).toBe(0)
    },
  )

  test('a queue that is not one is refused with what makes one', () => {
    const queue = { add: async () => undefined } as never
    expect(() => bench(echo, { queue })).toThrow('bullmqQueue(queue) of allm-ts/queues')
  })

  test('a worker prunes every ten minutes, and batch after batch while there is much to remove', async () => {
    const clock = virtualClock({ auto: false })
    const inner = memoryStore({ clock })
    const backlog = [1000, 998, 1000, 7, 3]
    const asked: unknown[] = []
    const errors: unknown[] = []
    const store: RunStore = {
      ...inner,
      prune: async (options) => {
        asked.push(options)
        const removed = backlog.shift()
        if (removed === undefined) throw new Error('gone')
        return removed
      },
    }
    const onError = (error: unknown): void => void errors.push(String(error))
    const { runs } = bench(echo, { store, clock, keepEventsMs: 5000, onError })
    const worker = runs.work({ everyMs: 60_000 })
    await clock.advance(599_999)
    expect(asked).toEqual([])
    await clock.advance(1)
    expect(asked).toEqual(Array.from({ length: 4 }, () => ({ keepMs: 5000, limit: 1000 })))
    await clock.advance(600_000)
    expect(asked).toHaveLength(5)
    await clock.advance(600_000)
    expect([asked.length, errors]).toEqual([6, ['Error: gone']])
    await worker.close()
    await clock.advance(6_000_000)
    expect(asked).toHaveLength(6)
    expect(clock.pending).toBe(0)
  })

  test('a queue rings for each command, and this process runs nothing', async () => {
    const rung: string[] = []
    const queue = {
      ring: async (id: string) => {
        rung.push(id)
      },
    }
    const { runs, store } = bench(echo, { queue })
    await runs.send('ada', 'Hello')
    expect(rung).toEqual(['ada'])
    expect(await store.due({ limit: 1 })).toEqual(['ada'])
    expect(await runs.advance('ada')).toEqual({ outcome: 'completed', more: false })
  })

  test('words that stop the run under way ring once', async () => {
    const rung: string[] = []
    const queue = { ring: async (id: string) => void rung.push(id) }
    const { runs, store } = bench(echo, { queue, whenBusy: 'interrupt' })
    await runs.send('ada', 'one')
    expect(rung).toEqual(['ada'])
    await store.acquire('ada', { owner: 'a worker', ttlMs: 10_000 })
    await runs.send('ada', 'two')
    expect(await store.stopRequested('ada')).toBe(true)
    expect(rung).toEqual(['ada', 'ada'])
    await runs.stop('ada')
    expect(rung).toHaveLength(3)
  })

  test('a call that finds a session busy leaves its owner in this process alone', async () => {
    const slow = scriptedEngine(() => [
      ['delay', 30_000],
      ['text', 'late'],
    ])
    const { clock } = bench(echo, {}, false)
    const store = memoryStore({ clock })
    // No hints: only the owner itself can be told at once.
    const deaf = { ...store, watch: () => () => undefined }
    const { runs } = bench(slow, { clock, store: deaf, execute: false })
    await runs.send('ada', 'one')
    const advanced = runs.advance('ada')
    while ((await store.look('ada'))?.version !== 1) await clock.advance(0)
    expect(await runs.advance('ada')).toMatchObject({ outcome: 'busy' })
    await runs.stop('ada')
    expect(await advanced).toMatchObject({ outcome: 'halted' })
    expect(clock.now()).toBe(0)
  })

  test.each([
    ['before it looks for more', 1],
    ['before it has looked for anything', 0],
  ])(
    'words that stop a run are not stopped themselves, if its owner is done and finds them %s',
    async (_when, reads) => {
      const engine = scriptedEngine((text) => [
        ['delay', 30_000],
        ['text', `about ${text}`],
      ])
      let looks = 0
      const { runs: web, store, clock } = bench(engine, { execute: false })
      const worker = bench(engine, {
        clock,
        execute: false,
        store: {
          ...store,
          readInbox: async (id) => {
            if (looks++ === reads) await web.send(id, 'two', { whenBusy: 'interrupt' })
            return store.readInbox(id)
          },
        },
      })
      await web.send('ada', 'one')
      if (reads === 0) {
        while ((await web.advance('ada')).more);
      }
      while ((await worker.runs.advance('ada')).more);
      const { session } = await web.wait('ada')
      expect(session.status).toBe('completed')
      expect(session.thread.messages.map(messageText)).toEqual([
        'one',
        'about one',
        'two',
        'about two',
      ])
    },
  )
})

test('the owner of a long text asks for stops only at renewals, where the store can tell a stop from a write', async () => {
  const engine = scriptedEngine(() =>
    Array.from({ length: 60 }, (_one, at) => [
      ['text', `${at} `] as const,
      ['delay', 1000] as const,
    ]).flat(),
  )
  const { store, clock } = bench(echo)
  const stops = new Set<() => void>()
  let asked = 0
  const telling: RunStore = {
    ...store,
    watch: (id, listener, options) => {
      if (options?.stopsOnly !== true) return store.watch(id, listener)
      stops.add(listener)
      return () => void stops.delete(listener)
    },
    requestStop: async (id) => {
      await store.requestStop(id)
      for (const listener of stops) listener()
    },
    stopRequested: async (id) => {
      asked++
      return store.stopRequested(id)
    },
  }
  const { runs } = bench(engine, { clock, store: telling, execute: false, leaseMs: 30_000 })
  await runs.send('ada', 'one')
  expect(await runs.advance('ada')).toMatchObject({ outcome: 'completed' })
  // Once at the start, and at each renewal.
  expect(asked).toBeLessThanOrEqual(8)

  await runs.send('ada', 'two')
  const began = clock.now()
  const other = createRuns({ engine, clock, store: telling, execute: false })
  const advanced = runs.advance('ada')
  await clock.sleep(1500)
  await other.stop('ada')
  expect(await advanced).toMatchObject({ outcome: 'halted' })
  expect(clock.now() - began).toBeLessThan(2000)
})

describe('a store that is gone', () => {
  /** A store whose writes fail for a while; some of them arrive although their answer is lost. */
  function flaky(store: RunStore, fails: () => boolean, arrives: boolean): RunStore {
    const wrap =
      <Args extends unknown[], T>(write: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        if (!fails()) return write(...args)
        if (arrives) await write(...args)
        throw new SessionError('unavailable', 'the store is gone')
      }
    return {
      ...store,
      save: wrap((...args: Parameters<RunStore['save']>) => store.save(...args)),
      append: wrap((...args: Parameters<RunStore['append']>) => store.append(...args)),
    }
  }

  test.each([false, true])(
    'for a moment does not end a run (writes arrive: %s)',
    async (arrives) => {
      const effects: string[] = []
      const engine = scriptedEngine(
        (_text, results) =>
          results === 0
            ? [['tool_call', { id: 'c1', name: 'charge', arguments: {} }]]
            : [
                ['text', 'one '],
                ['delay', 300],
                ['text', 'two'],
              ],
        { tools: toolsOf(effects) },
      )
      const clock = virtualClock()
      const inner = memoryStore({ clock })
      let writes = 0
      // Every second write fails.
      const store = flaky(inner, () => ++writes % 2 === 0, arrives)
      const { runs } = bench(engine, { store, clock })
      await runs.send('ada', 'go')
      const { session, result } = await runs.wait('ada')
      expect(session.status).toBe('completed')
      expect(result.outputText).toBe('one two')
      expect(effects).toEqual(['charge:c1'])
      const ids: number[] = []
      for await (const { id } of runs.follow('ada')) ids.push(id)
      expect(ids).toEqual(ids.map((_id, at) => at + 1))
    },
  )

  test('for longer than a lease ends the run, and it goes on when the store is back', async () => {
    const effects: string[] = []
    const engine = scriptedEngine(
      (_text, results) =>
        results === 0
          ? [['tool_call', { id: 'c1', name: 'charge', arguments: {} }]]
          : [['text', 'done']],
      { tools: toolsOf(effects) },
    )
    const clock = virtualClock()
    const inner = memoryStore({ clock })
    let isGone = false
    const gone = <T>(work: () => Promise<T>): Promise<T> =>
      isGone ? Promise.reject(new SessionError('unavailable', 'gone')) : work()
    const store: RunStore = {
      ...inner,
      save: (session, options) => {
        if (options?.events?.some(({ type }) => type === 'tool_execution_started')) isGone = true
        return gone(() => inner.save(session, options))
      },
      append: (...args) => gone(() => inner.append(...args)),
      renew: (...args) => gone(() => inner.renew(...args)),
      look: (...args) => gone(() => inner.look(...args)),
      stopRequested: (...args) => gone(() => inner.stopRequested(...args)),
    }
    const { runs } = bench(engine, { store, clock, execute: false })
    await runs.send('ada', 'go')
    expect(await runs.advance('ada')).toEqual({ outcome: 'lost', more: false })
    expect(effects).toEqual([])
    isGone = false
    const back = createRuns({ engine, store: inner, clock })
    await clock.advance(11_000)
    expect(await back.recover()).toBe(1)
    expect((await back.get('ada'))?.session.status).toBe('completed')
    expect(effects).toEqual(['charge:c1'])
  })
})

test('a command that comes while a run ends here is not forgotten', async () => {
  const clock = virtualClock()
  const inner = memoryStore({ clock })
  const pushed: Promise<unknown>[] = []
  const store: RunStore = {
    ...inner,
    release: async (id, lease, options) => {
      const isDue = await inner.release(id, lease, options)
      // The answer of the store takes its time, and a second message is faster.
      if (pushed.length === 0) pushed.push(runs.send('ada', 'two'))
      await clock.sleep(50)
      return isDue
    },
  }
  const { runs } = bench(echo, { store, clock })
  await runs.send('ada', 'one')
  await clock.advance(1000)
  await Promise.all(pushed)
  const { session } = await runs.wait('ada')
  expect(session.thread.messages.map(messageText)).toEqual([
    'one',
    'You said: one',
    'two',
    'You said: two',
  ])
})

test('a step that its processes die of is not tried for ever', async () => {
  const clock = virtualClock()
  const store = memoryStore({ clock })
  let deaths = 0
  const poison = tool({
    name: 'poison',
    description: 'Ends the process.',
    schema: { type: 'object' },
    idempotent: true,
    handler: () => {
      deaths++
      return new Promise(() => undefined)
    },
  })
  const engine = scriptedEngine(
    (_text, results) =>
      results === 0
        ? [['tool_call', { id: 'c', name: 'poison', arguments: {} }]]
        : [['text', 'survived']],
    { tools: [poison], toolTimeoutMs: 1_000_000_000 },
  )
  await store.push('ada', { type: 'send', content: 'go' })
  for (let life = 0; life < 8; life++) {
    // A process whose clock stands still renews nothing: it is dead.
    const dead = createRuns({
      engine,
      store,
      clock: virtualClock({ auto: false }),
      maxTakeOvers: 3,
      execute: false,
    })
    dead.recover().catch(() => undefined)
    await clock.advance(20_000)
  }
  expect(deaths).toBe(4)
  const { session } = (await store.load('ada')) ?? {}
  expect(session?.status).toBe('error')
  expect(session?.error?.message).toContain('died 4 times')
  expect(await store.due({ limit: 1 })).toEqual([])
})

test('a worker whose store fails says so, and goes on when it is back', async () => {
  const clock = virtualClock()
  const inner = memoryStore({ clock })
  let fails = true
  const store: RunStore = {
    ...inner,
    claim: async (options) => {
      if (fails) throw new Error('boom')
      return inner.claim(options)
    },
  }
  const errors: unknown[] = []
  const { runs } = bench(echo, {
    store,
    clock,
    execute: false,
    onError: (error, id) => errors.push([String(error), id]),
  })
  await runs.send('ada', 'hi')
  const worker = runs.work()
  await clock.advance(2000)
  expect(errors[0]).toEqual(['Error: boom', undefined])
  fails = false
  expect((await runs.wait('ada')).session.status).toBe('completed')
  await worker.close()
})

test('when the log is pruned, a follower is told, and a result is what the session tells', async () => {
  const { runs, store, clock } = bench(echo)
  await runs.send('ada', 'hi')
  expect(await runs.wait('ada')).not.toHaveProperty('pruned')
  await clock.advance(5000)
  expect(await store.prune({ keepMs: 1000 })).toBe(1)
  const late = runs.follow('ada', { after: 2 })
  await expect(late[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason: 'stale' })
  expect(await typesOf(runs, 'ada')).toEqual([])
  const rested = await runs.wait('ada')
  const { session, result, pruned } = rested
  expect(session.status).toBe('completed')
  expect(result).toMatchObject({ haltedReason: 'completed', outputText: 'You said: hi' })
  expect(result).toMatchObject({ steps: [], usage: {} })
  expect(pruned).toBe(true)
  // It was not free.
  expect(costOf(rested, {})).toEqual({ total: 0, unknown: [{ usage: {} }] })
})

test('a wait that is longer than the engine allows fails at once', async () => {
  const adapter = fake({ script: [['error', 'rate_limited', { retryAfterMs: 60_000 }]] })
  const { runs } = bench(createEngine({ adapter, retry: { maxDelayMs: 30_000 } }))
  await runs.send('ada', 'hi')
  const { session } = await runs.wait('ada')
  expect(session).toMatchObject({ status: 'error', error: { reason: 'rate_limited' } })
})

test('a session that waits says until when', async () => {
  const adapter = fake({ script: [['error', 'rate_limited', { retryAfterMs: 60_000 }]] })
  const engine = createEngine({ adapter, retry: { jitterMs: 0 } })
  const { runs } = bench(engine, { execute: false }, false)
  await runs.send('ada', 'hi')
  await runs.advance('ada')
  expect(await runs.get('ada')).toMatchObject({ running: true, wakeAt: 60_000 })
})

test('what send does while a run is under way can be said for each message', async () => {
  const slow = scriptedEngine((text) => [
    ['delay', 30_000],
    ['text', `about ${text}`],
  ])
  const { runs } = bench(slow)
  await runs.send('ada', 'one')
  await expect(runs.send('ada', 'two')).rejects.toMatchObject({ reason: 'busy' })
  await runs.send('ada', 'three', { whenBusy: 'queue' })
  const { session } = await runs.wait('ada')
  expect(session.thread.messages.map(messageText)).toEqual([
    'one',
    'about one',
    'three',
    'about three',
  ])
})

test('a session that cannot be read is reported, and nothing else is disturbed', async () => {
  const clock = virtualClock()
  const inner = memoryStore({ clock })
  const store: RunStore = {
    ...inner,
    load: async (id) => {
      if (id === 'bad') throw new SessionError('unreadable', 'not a session')
      return inner.load(id)
    },
  }
  const errors: unknown[] = []
  const onError = (error: unknown, id?: string): void => {
    errors.push([id, error instanceof SessionError && error.reason])
  }
  const { runs } = bench(echo, { store, clock, onError, execute: false })
  await store.push('bad', { type: 'send', content: 'x' })
  await store.push('good', { type: 'send', content: 'x' })
  const worker = runs.work()
  expect((await runs.wait('good')).session.status).toBe('completed')
  await clock.advance(30_000)
  await worker.close()
  expect(errors.length).toBeGreaterThan(1)
  expect(errors[0]).toEqual(['bad', 'unreadable'])
})

test('wrong options and ids are refused with their names', async () => {
  const store = memoryStore()
  const wrong: [unknown, string][] = [
    [{}, 'engine'],
    [{ engine: echo }, 'store'],
    [{ engine: echo, store: {} }, 'store'],
    [{ engine: echo, store, leaseMS: 1 }, 'leaseMs'],
    [{ engine: echo, store, leaseMs: -1 }, 'leaseMs'],
    [{ engine: echo, store, whenBusy: 'wait' }, 'whenBusy'],
    [{ engine: { adapter: 1 }, store }, 'createEngine'],
  ]
  for (const [options, name] of wrong) {
    expect(() => createRuns(options as never)).toThrow(name)
  }
  const runs = createRuns({ engine: echo, store })
  expect(() => runs.follow('ada', { afer: 1 } as never)).toThrow('after')
  const typo = { drain: 5 } as never
  await expect(runs.close(typo)).rejects.toThrow('drainMs')
  const worker = runs.work()
  await expect(worker.close(typo)).rejects.toThrow('drainMs')
  await worker.close()
  await expect(runs.close({ drainMs: '5' } as never)).rejects.toThrow(ValidationError)
  await expect(runs.wait('ada', { sginal: 1 } as never)).rejects.toThrow('signal')
  await expect(runs.advance('ada', { sginal: 1 } as never)).rejects.toThrow('signal')
  await expect(runs.due({ limt: 1 } as never)).rejects.toThrow('limit')
  await expect(runs.approve('ada', 'c', { args: {} } as never)).rejects.toThrow('arguments')
  await expect(runs.resume('ada', { key: 'k' } as never)).rejects.toThrow('idempotencyKey')
  await expect(runs.send('ada', 'x', { idempotencykey: 'k' } as never)).rejects.toThrow(
    'idempotencyKey',
  )
  for (const id of ['', 'x'.repeat(10_000), 'a\0b', '\uD800', 7] as string[]) {
    await expect(runs.send(id, 'x')).rejects.toThrow(ValidationError)
    await expect(runs.get(id)).rejects.toThrow(ValidationError)
    await expect(runs.wait(id)).rejects.toThrow(ValidationError)
    await expect(runs.stop(id)).rejects.toThrow(ValidationError)
    await expect(runs.advance(id)).rejects.toThrow(ValidationError)
    await expect(runs.delete(id)).rejects.toThrow(ValidationError)
  }
})
