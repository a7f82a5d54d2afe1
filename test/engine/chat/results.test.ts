import { describe, expect, test } from 'vitest'
import {
  appendMessages,
  chat,
  collectChat,
  collectStep,
  createEngine,
  generate,
  modelRequest,
  Session,
  step,
  streamChat,
  streamStep,
  thread,
  user,
  type StreamEvent,
} from '../../../src/index.ts'
import { collectEvents, fake, type Script } from '../../../src/testing.ts'
import { call, done, echo, named } from './support.ts'

describe('a text is one user message', () => {
  const engine = () => createEngine({ adapter: fake({ script: done }) })
  const asked = [user('go')]

  test('for generate, step and chat', async () => {
    const adapter = fake({ scripts: [done, done, done] })
    const shared = createEngine({ adapter })
    await generate(shared, 'go')
    await step(shared, 'go')
    await chat(shared, 'go')
    expect(adapter.calls.map(({ request }) => request.messages)).toEqual([asked, asked, asked])
  })

  test('for sessions', async () => {
    const { session } = await Session.start(engine(), 'go')
    expect(session.thread.messages[0]).toEqual(asked[0])
    expect(Session.create({ messages: 'go' }).thread.messages).toEqual(asked)
    expect(Session.append(session, 'go').thread.messages.at(-1)).toEqual(asked[0])
  })

  test('for requests and threads', () => {
    expect(modelRequest('go').messages).toEqual(asked)
    expect(thread('go').messages).toEqual(asked)
  })

  test.each([
    ['generate', generate],
    ['chat', chat],
    ['step', step],
  ])('%s refuses anything else, shows it and says what to write', async (_name, ask) => {
    // A caller without types may pass anything.
    const wrong = 7 as unknown as string
    await expect((async () => ask(engine(), wrong))()).rejects.toMatchObject({
      kind: 'validation',
      message: expect.stringMatching(/text.*\[user\("…"\)\].*not 7/),
    })
  })
})

describe('the results of a chat', () => {
  const scripts: readonly Script[] = [[['text', 'let me see'], call('c1')], done]

  test('have the text of the last answer, and steps that say what they added', async () => {
    const engine = createEngine({ adapter: fake({ scripts }), tools: [echo] })
    const result = await chat(engine, 'go')
    expect(result.outputText).toBe('done')
    expect(result.steps.map(({ newMessages }) => newMessages.map(({ role }) => role))).toEqual([
      ['assistant', 'tool'],
      ['assistant'],
    ])
    expect(result.steps[0]).not.toHaveProperty('thread')
    const added = result.steps.flatMap(({ newMessages }) => newMessages)
    expect(result.thread.messages).toEqual([user('go'), ...added])
  })

  test('are whole when the fold knows the thread that the run started from', async () => {
    const start = thread([user('one'), user('two')])
    const engine = (): ReturnType<typeof createEngine> =>
      createEngine({ adapter: fake({ scripts }), tools: [echo] })
    const options = { requestId: 'r' }
    const events = await collectEvents(streamChat(engine(), start, options))
    expect(await collectChat(events, start)).toEqual(await chat(engine(), start, options))
    const stepEvents = await collectEvents(streamStep(engine(), start, options))
    expect(await collectStep(stepEvents, start)).toEqual(await step(engine(), start, options))
    const { thread: alone } = await collectChat(events)
    expect(appendMessages(start, ...alone.messages)).toEqual(
      (await collectChat(events, start)).thread,
    )
  })
})

describe('the events of a chat', () => {
  const bytes = (events: readonly StreamEvent[]): number =>
    events.reduce((sum, event) => sum + JSON.stringify(event).length, 0)

  const eventsOf = (steps: number, history: string): Promise<StreamEvent[]> => {
    const calls: readonly Script[] = Array.from({ length: steps }, (_, n) => [call(`c${n}`)])
    const big = named('echo', () => 'x'.repeat(10_000))
    const engine = createEngine({ adapter: fake({ scripts: [...calls, done] }), tools: [big] })
    return collectEvents(streamChat(engine, history, { maxTurns: steps + 1 }))
  }

  test('do not carry the history', async () => {
    const secret = 'the history'
    expect(JSON.stringify(await eventsOf(2, secret))).not.toContain(secret)
  })

  test('grow with the run and not with its square', async () => {
    const [ten, hundred] = [bytes(await eventsOf(10, 'go')), bytes(await eventsOf(100, 'go'))]
    expect(hundred / ten).toBeLessThan(11)
    expect(hundred).toBeLessThan(6_000_000)
  })
})
