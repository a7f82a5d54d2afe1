import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  chat,
  collectChat,
  createEngine,
  generate,
  runToolCalls,
  Session,
  step,
  streamChat,
  streamGenerate,
  streamStep,
  streamToolCalls,
  thread,
  user,
  type ChatResult,
  type ModelResponse,
} from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../../src/testing.ts'
import { call, done, echo } from '../chat/support.ts'

const options = { requestId: 'r' }

const spoken: Script = [
  ['text', 'One, '],
  ['text', 'two.'],
  ['usage', { outputTokens: 2 }],
]

const engineOf = (...scripts: Script[]): ReturnType<typeof createEngine> =>
  createEngine({ adapter: fake({ scripts }), tools: [echo], clock: virtualClock() })

const unhandled: unknown[] = []
const onUnhandled = (reason: unknown): number => unhandled.push(reason)
beforeAll(() => void process.on('unhandledRejection', onUnhandled))
afterAll(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled).toEqual([])
})

describe('the result of a stream', () => {
  test('is what the call without stream gives', async () => {
    expect(await streamGenerate(engineOf(spoken), 'go', options).result).toEqual(
      await generate(engineOf(spoken), 'go', options),
    )
    const tooled = [[call('c1')], done] as const
    expect(await streamStep(engineOf(...tooled), 'go', options).result).toEqual(
      await step(engineOf(...tooled), 'go', options),
    )
    expect(await streamChat(engineOf(...tooled), 'go', options).result).toEqual(
      await chat(engineOf(...tooled), 'go', options),
    )
    const calls = [{ id: 'c1', name: 'echo', arguments: {} }]
    expect(await streamToolCalls(calls, [echo]).result).toEqual(await runToolCalls(calls, [echo]))
    const first = Session.create({ id: 's', messages: 'go' })
    expect(await Session.streamStart(engineOf(...tooled), first, options).result).toEqual(
      await Session.start(engineOf(...tooled), first, options),
    )
    expect(await Session.streamStep(engineOf(...tooled), first, options).result).toEqual(
      await Session.step(engineOf(...tooled), first, options),
    )
  })

  test('rejects as the call without stream does, before and after the first event', async () => {
    const early: Script = [['preflight_error', 'invalid_request', { message: 'no' }]]
    const late: Script = [
      ['text', 'One, '],
      ['error', 'content_filter'],
    ]
    for (const script of [early, late]) {
      const failure = await generate(engineOf(script), 'go', options).catch((e: unknown) => e)
      const streamed = streamGenerate(engineOf(script), 'go', options).result
      await expect(streamed).rejects.toEqual(failure)
      const outcome = await chat(engineOf(script), 'go', options).catch((e: unknown) => e)
      await expect(streamChat(engineOf(script), 'go', options).result).rejects.toEqual(outcome)
    }
    expect(await Session.streamStart(engineOf(late), 'go').result).toMatchObject({
      session: { status: 'error', error: { reason: 'content_filter' } },
    })
  })

  test('may be awaited beside or after the reading of the events', async () => {
    const stream = streamChat(engineOf(spoken), 'go')
    const beside = stream.result
    const events = await collectEvents(stream)
    expect(events.at(-1)?.type).toBe('chat_completed')
    expect((await beside).outputText).toBe('One, two.')
    expect(await stream.result).toBe(await beside)
  })

  test('does not start to read while a reader can still start in this turn', async () => {
    const adapter = fake({ script: spoken })
    const stream = streamGenerate(createEngine({ adapter }), 'go')
    const { result } = stream
    await Promise.resolve()
    expect(adapter.calls).toHaveLength(0)
    const texts: string[] = []
    for await (const event of stream) if (event.type === 'text_delta') texts.push(event.delta)
    expect(texts).toEqual(['One, ', 'two.'])
    expect((await result).outputText).toBe('One, two.')
  })

  test('that reads the run itself leaves nothing for a later reader', async () => {
    const stream = streamGenerate(engineOf(spoken), 'go')
    await stream.result
    expect(() => stream[Symbol.asyncIterator]()).toThrow(
      expect.objectContaining({ kind: 'stream', reason: 'already_read' }),
    )
  })

  test('is lazy: a stream whose result is not read sends nothing', async () => {
    const adapter = fake({ script: spoken })
    streamGenerate(createEngine({ adapter }), 'go')
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(adapter.calls).toHaveLength(0)
  })

  test('after break is cancelled, with what the reader had got', async () => {
    const adapter = fake({ scripts: [spoken, spoken] })
    const engine = createEngine({ adapter })
    const stream = streamGenerate(engine, 'go')
    for await (const event of stream) if (event.type === 'text_delta') break
    const failure = (await stream.result.catch((e: unknown) => e)) as { partial: ModelResponse }
    expect(failure).toMatchObject({ kind: 'stream', reason: 'cancelled' })
    expect(failure.partial).toMatchObject({ outputText: 'One, ', finishReason: 'error' })

    const run = streamChat(engine, 'go')
    const beside = run.result
    for await (const event of run) if (event.type === 'text_delta') break
    const left = (await beside.catch((e: unknown) => e)) as { partial: ChatResult }
    expect(left.partial).toMatchObject({
      haltedReason: 'cancelled',
      outputText: 'One, ',
      thread: { messages: [{ role: 'user' }, { content: 'One, ', metadata: { partial: true } }] },
    })
    expect(adapter.openStreams).toBe(0)
  })

  test('of a session resolves after break, with the session as it stands', async () => {
    const stream = Session.streamStart(engineOf(spoken), 'go')
    for await (const event of stream) if (event.type === 'text_delta') break
    const { session } = await stream.result
    expect(session).toEqual(stream.session)
    expect(session).toMatchObject({ status: 'idle', thread: { messages: [{}, {}] } })
    expect(session).not.toHaveProperty('error')
  })

  test('after break at the last event is the whole result', async () => {
    const stream = streamChat(engineOf(spoken), 'go', options)
    for await (const event of stream) if (event.type === 'chat_completed') break
    expect(await stream.result).toEqual(await chat(engineOf(spoken), 'go', options))
  })

  test('of a stream that is left before it is read is cancelled, and nothing is sent', async () => {
    const adapter = fake({ script: spoken })
    const stream = streamChat(createEngine({ adapter }), 'go')
    const { result } = stream
    await stream.return()
    await expect(result).rejects.toMatchObject({ reason: 'cancelled' })
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(adapter.calls).toHaveLength(0)
  })

  test('that nobody awaits causes no unhandled rejection', async () => {
    const stream = streamGenerate(engineOf([['error', 'timeout']]), 'go', { retry: false })
    const abandoned = [stream.result]
    await new Promise((resolve) => setTimeout(resolve, 0))
    await collectEvents(streamGenerate(engineOf(spoken), 'go'))
    expect(unhandled).toEqual([])
    expect(abandoned).toHaveLength(1)
  })
})

test('collectChat of a stream knows the thread that the run started from', async () => {
  const start = thread([user('one'), user('two')])
  const folded = await collectChat(streamChat(engineOf(spoken), start, options))
  expect(folded).toEqual(await chat(engineOf(spoken), start, options))
})
