import { expect, test } from 'vitest'
import {
  chat,
  createEngine,
  extendEngine,
  Session,
  tool,
  type EngineContext,
  type HandlerOptions,
} from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { done } from './support.ts'

const ask: Script = [['tool_call', { id: 'c1', name: 'look', arguments: { id: '7' } }]]

class Database {
  readonly #rows = new Map([['7', 'seven']])
  find(id: string): string | undefined {
    return this.#rows.get(id)
  }
}

const look = tool({
  name: 'look',
  description: 'Looks up a row.',
  schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  handler: ({ id }, { context }: HandlerOptions<{ db: Database }>) => context.db.find(id),
})

test('a live member of the context is used in a handler without a cast', async () => {
  const engine = createEngine({
    adapter: fake({ scripts: [ask, done] }),
    tools: [look],
    context: { db: new Database() },
  })
  const { thread } = await chat(engine, 'go')
  expect(thread.messages[2]?.content).toBe('seven')
})

test("the call's members win over the session's, and those over the engine's", async () => {
  let seen: EngineContext = {}
  const spy = tool({
    name: 'look',
    description: 'd',
    schema: { type: 'object' },
    handler: (_args, { context }) => {
      seen = context
    },
  })
  const db = new Database()
  const engine = createEngine({
    adapter: fake({ scripts: [ask, done] }),
    tools: [spy],
    context: { a: 'engine', b: 'engine', c: 'engine', db },
  })
  const session = Session.create({ messages: 'go', context: { b: 'session', c: 'session' } })
  await Session.start(engine, session, { context: { c: 'call' } })
  expect(seen).toEqual({ a: 'engine', b: 'session', c: 'call', db })
  expect(seen['db']).toBe(db)
})

test("a handler gets a record of its own, and the engine's stays as it was", async () => {
  const grab = tool({
    name: 'look',
    description: 'd',
    schema: { type: 'object' },
    handler: (_args, { context }) => Object.assign(context, { leaked: true }) && 'ok',
  })
  const adapter = fake({ scripts: [ask, ask, done] })
  const engine = createEngine({ adapter, tools: [grab], context: { a: 1 } })
  await chat(engine, 'go')
  expect(engine.context).toEqual({ a: 1 })
})

test('extendEngine merges live members', () => {
  const engine = createEngine({ context: { a: 1, db: new Database() } })
  const { context } = extendEngine(engine, { context: { a: 2 } })
  expect(context).toEqual({ a: 2, db: engine.context['db'] })
})

test('the context of a session is JSON, because it is saved', () => {
  const context = { db: new Database() } as never
  expect(() => Session.create({ context })).toThrow(/context\.db must be a JSON value/)
})

test.each([[[]], [7], ['text'], [new Database()]])('%o is not a context', (wrong) => {
  expect(() => createEngine({ context: wrong as object })).toThrow(
    /context must be a plain object, whose members may be anything/,
  )
})
