import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEngine, Session, step, type CallOptions, type Engine } from '../../../src/index.ts'
import { crashAtEveryEvent, fake, type Fake } from '../../../src/testing.ts'
import { call, named } from '../chat/support.ts'

/** Sessions whose last answer has a format. */

const responseFormat = z.object({ n: z.number() })
const engineOf = (...answers: readonly string[]): { engine: Engine; adapter: Fake } => {
  const adapter = fake({ scripts: answers.map((answer) => [answer]) })
  return { adapter, engine: createEngine({ adapter, responseFormat }) }
}

/** A session whose run ended with a wrong answer that was not checked any more. */
async function unchecked(how: 'cut' | 'stopped', options?: CallOptions): Promise<Session> {
  const stop = new AbortController()
  const { engine } = engineOf('nojson')
  const stream = Session.streamStart(engine, 'hi', { ...options, signal: stop.signal })
  for await (const event of stream) {
    if (event.type !== 'message_completed') continue
    if (how === 'cut') break
    stop.abort()
  }
  return Session.parse(Session.stringify(stream.session))
}

describe.each(['cut', 'stopped'] as const)(
  'a run that was %s before its answer was checked',
  (how) => {
    test('is resumed to the error of the uncut run, and then asks the model again', async () => {
      const { engine, adapter } = engineOf('{"n":1}')
      const { session, result } = await Session.resume(engine, await unchecked(how))
      expect([session.status, session.error?.reason]).toEqual(['error', 'invalid_output'])
      expect(result).toMatchObject({ haltedReason: 'error', error: { reason: 'invalid_output' } })
      expect(adapter.calls).toHaveLength(0)
      const { engine: uncut } = engineOf('nojson')
      expect(session.thread).toEqual((await Session.start(uncut, 'hi')).session.thread)
      const again = await Session.resume(engine, session)
      expect([again.session.status, again.result.output]).toEqual(['completed', { n: 1 }])
      expect(adapter.calls).toHaveLength(1)
    })

    test('is resumed so as a stream, too', async () => {
      const stream = Session.streamResume(engineOf('{"n":1}').engine, await unchecked(how))
      let reduced = Session.reduce(stream.session)
      const types: string[] = []
      for await (const event of stream) {
        types.push(event.type)
        reduced = Session.applyEvent(reduced, event)
      }
      expect(types).toEqual(['error'])
      expect(stream.session).toMatchObject({ status: 'error', error: { reason: 'invalid_output' } })
      expect(Session.finalize(reduced).session).toEqual(stream.session)
      expect((await stream.result).session).toEqual(stream.session)
    })

    test('is repaired when it is resumed', async () => {
      const { engine, adapter } = engineOf('{"n":1}')
      const { session, result } = await Session.resume(engine, await unchecked(how), { repair: 1 })
      expect([session.status, result.output]).toEqual(['completed', { n: 1 }])
      expect(adapter.calls).toHaveLength(1)
    })
  },
)

describe('a crash at any event of a run with a format', () => {
  test.each([
    { name: 'a wrong answer', answers: ['nojson'], options: {}, endsIn: 'error' },
    { name: 'an empty answer', answers: [''], options: {}, endsIn: 'error' },
    {
      name: 'a repair',
      answers: ['nojson', '{"n":1}'],
      options: { repair: 1 },
      endsIn: 'completed',
    },
    { name: 'a vain repair', answers: ['nojson', 'no'], options: { repair: 1 }, endsIn: 'error' },
    {
      name: 'a second pass',
      answers: ['prose', 'nojson'],
      options: { structuredFinalize: true },
      endsIn: 'error',
    },
  ] as const)('ends as the uncut run: $name', async ({ answers, options, endsIn }) => {
    const report = await crashAtEveryEvent({
      scripts: answers.map((answer) => [answer]),
      messages: 'hi',
      options: { ...options, responseFormat },
      endsIn,
    })
    expect(report.status).toBe(endsIn)
  })
})

describe('a single step', () => {
  test('checks a final answer: in a session, in a stream and by itself', async () => {
    const asked = Session.create({ messages: 'hi' })
    const { session } = await Session.step(engineOf('nojson').engine, asked)
    expect(session).toMatchObject({ status: 'error', error: { reason: 'invalid_output' } })
    const stream = Session.streamStep(engineOf('nojson').engine, asked)
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    expect(types.at(-1)).toBe('error')
    expect(stream.session).toMatchObject({ status: 'error', error: session.error })
    await expect(step(engineOf('nojson').engine, 'hi')).rejects.toMatchObject({
      reason: 'invalid_output',
      partial: { response: { outputText: 'nojson' } },
    })
    const { engine, adapter } = engineOf('{"n":1}')
    const again = await Session.step(engine, session)
    expect([again.session.status, again.result.done, adapter.calls.length]).toEqual([
      'completed',
      true,
      1,
    ])
  })

  test('that ends with the request for a repair is not done: the next step repairs', async () => {
    const { engine } = engineOf('nojson', '{"n":1}')
    const asked = Session.create({ messages: 'hi' })
    const first = await Session.step(engine, asked, { repair: 1 })
    expect([first.session.status, first.result.done]).toEqual(['idle', false])
    const second = await Session.step(engine, first.session, { repair: 1 })
    expect([second.session.status, second.result.done]).toEqual(['completed', true])
  })

  test('does not check an answer whose tools run', async () => {
    const tools = [named('echo', (args) => args)]
    const adapter = fake({ scripts: [[call('c1')], ['{"n":1}']] })
    const engine = createEngine({ adapter, responseFormat, tools })
    const first = await Session.step(engine, Session.create({ messages: 'hi' }))
    expect([first.session.status, first.result.done]).toEqual(['idle', false])
  })
})
