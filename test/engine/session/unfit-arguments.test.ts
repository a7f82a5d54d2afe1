import { describe, expect, test } from 'vitest'
import {
  agentTool,
  chat,
  createEngine,
  handoff,
  Session,
  tool,
  type Engine,
  type JsonObject,
  type Tool,
} from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'

/** A call that somebody approved, whose arguments its tool does not take any more: it rests, and is not told to the model. */

const ran: unknown[] = []

/** `publish`, which asks for these fields. */
const publish = (...required: string[]): Tool =>
  tool({
    name: 'publish',
    description: 'Publishes.',
    schema: {
      type: 'object',
      properties: { title: { type: 'string' }, audience: { type: 'string' } },
      required,
    },
    needsApproval: true,
    handler: (args) => {
      ran.push(args)
      return 'published'
    },
  })

/** A schema that answers later: with the arguments, or with a problem. */
const later = (problem?: string): NonNullable<Tool['input']> => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) =>
      problem === undefined
        ? { value: value as JsonObject }
        : { issues: [{ message: problem, path: ['title'] }] },
  },
})

const asked: Script = [['tool_call', { id: 'c1', name: 'publish', arguments: { title: 'T' } }]]
const done: Script = [['text', 'It is published.']]
const engineOf = (tools: readonly Tool[], ...scripts: readonly Script[]): Engine =>
  createEngine({ tools, adapter: fake({ scripts }) })
const old = (...scripts: readonly Script[]): Engine => engineOf([publish('title')], ...scripts)
const changed = (...scripts: readonly Script[]): Engine =>
  engineOf([publish('title', 'audience')], ...scripts)
const results = ({ thread }: Session): unknown[] =>
  thread.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

/** A session whose call was approved. */
const approved = async (): Promise<Session> => {
  ran.length = 0
  return Session.approve((await Session.start(old(asked), 'go')).session, 'c1')
}
const unfit = {
  kind: 'tool',
  reason: 'invalid_arguments',
  toolName: 'publish',
  toolCallId: 'c1',
  message: expect.stringMatching(/c1 was approved.*publish does not take.*audience.*deny it/),
  metadata: { issues: [{ path: 'audience', problem: expect.any(String) }] },
}

describe('an approved call whose arguments the tool does not take any more', () => {
  test('leaves the session in error, and goes on where the tool takes them', async () => {
    const failed = await Session.resume(changed(done), await approved())
    expect(failed.session).toMatchObject({ status: 'error', error: unfit })
    expect(ran).toEqual([])
    const { session } = await Session.resume(
      old(done),
      Session.parse(Session.stringify(failed.session)),
    )
    expect([session.status, ran, results(session)]).toEqual([
      'completed',
      [{ title: 'T' }],
      ['published'],
    ])
  })

  test('goes on with other arguments that are approved after that, and runs once', async () => {
    const { session: failed } = await Session.resume(changed(done), await approved())
    expect(Session.legalOperations(failed)).toEqual(expect.arrayContaining(['approve', 'deny']))
    const args = { title: 'T', audience: 'all' }
    const again = Session.approve(failed, 'c1', { arguments: args })
    const { session } = await Session.resume(changed(done), again)
    expect([session.status, ran]).toEqual(['completed', [args]])
    expect(() => Session.approve(session, 'c1')).toThrow(
      expect.objectContaining({ kind: 'session' }),
    )
  })

  test('can be denied after that', async () => {
    const { session: failed } = await Session.resume(changed(done), await approved())
    const { session } = await Session.resume(changed(done), Session.deny(failed, 'c1', 'too late'))
    expect([session.status, ran, results(session)]).toEqual([
      'completed',
      [],
      [expect.stringContaining('too late')],
    ])
  })

  test('rests again when the arguments that it was approved with do not fit either', async () => {
    const { session: failed } = await Session.resume(changed(done), await approved())
    const again = Session.approve(failed, 'c1', { arguments: { title: 'other' } })
    const { session } = await Session.resume(changed(done), again)
    expect(session).toMatchObject({ status: 'error', error: unfit })
  })

  test('stays when the user says something, and can be denied then', async () => {
    const { session: failed } = await Session.resume(changed(done), await approved())
    const { session: said } = await Session.reply(changed(done), failed, 'And?')
    expect(said).toMatchObject({ status: 'error', error: unfit })
    const { session } = await Session.resume(changed(done), Session.deny(said, 'c1', 'too late'))
    expect(session.status).toBe('completed')
    expect(JSON.stringify(session.thread)).toContain('too late')
    expect(ran).toEqual([])
  })

  test('rests before any other call of the answer runs, also with a schema that answers later', async () => {
    let charged = 0
    const charge = tool({
      name: 'charge',
      description: 'Charges.',
      schema: { type: 'object' },
      needsApproval: true,
      handler: () => ++charged,
    })
    const slow = (problem?: string): Tool => ({ ...publish('title'), input: later(problem) })
    const both: Script = [['tool_call', { id: 'c0', name: 'charge', arguments: {} }], ...asked]
    const { session: first } = await Session.start(engineOf([slow(), charge], both), 'go')
    const decided = Session.approve(Session.approve(first, 'c0'), 'c1')
    const failed = await Session.resume(engineOf([slow('no'), charge], done), decided)
    expect([failed.session.status, failed.session.error?.toolCallId, charged]).toEqual([
      'error',
      'c1',
      0,
    ])
    await expect(Session.resume(engineOf([slow('no')], done), decided)).rejects.toMatchObject({
      reason: 'unknown_tool',
    })
    const { session } = await Session.resume(engineOf([slow(), charge], done), failed.session)
    expect([session.status, charged]).toEqual(['completed', 1])
  })

  test('is answered as interrupted when it was started before', async () => {
    const stream = Session.streamResume(old(done), await approved())
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const { session } = await Session.resume(changed(done), stream.session)
    expect([session.status, results(session)]).toEqual([
      'completed',
      [expect.stringContaining('interrupted')],
    ])
  })

  test('that was started and may run again rests, and is not decided about twice', async () => {
    const again = (...required: string[]): Tool => ({ ...publish(...required), idempotent: true })
    const stream = Session.streamResume(engineOf([again('title')], done), await approved())
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const changedTool = again('title', 'audience')
    const { session: failed } = await Session.resume(engineOf([changedTool], done), stream.session)
    expect(failed).toMatchObject({ status: 'error', error: unfit })
    expect(Session.legalOperations(failed)).not.toContain('deny')
    expect(() => Session.deny(failed, 'c1')).toThrow('c1 was approved already')
    const { session } = await Session.resume(engineOf([again('title')], done), failed)
    expect([session.status, ran]).toEqual(['completed', [{ title: 'T' }]])
  })

  test('fails a chat that takes the decision as an option', async () => {
    const { thread } = await chat(old(asked), 'go')
    const going = chat(changed(done), thread, { approvals: { c1: true } })
    await expect(going).rejects.toMatchObject(unfit)
  })

  test('rests inside an agent, which is not entered', async () => {
    ran.length = 0
    const writer = (inner: Engine): Tool =>
      agentTool({ name: 'writer', description: 'Writes.', engine: inner })
    const ask: Script = [['tool_call', { id: 'w', name: 'writer', arguments: { prompt: 'go' } }]]
    const outer = engineOf([writer(old(asked))], ask)
    const decided = Session.approve((await Session.start(outer, 'go')).session, 'w/c1')
    const engine = engineOf([writer(changed(done))], done)
    const { session: failed } = await Session.resume(engine, decided)
    expect(failed).toMatchObject({ status: 'error', error: { ...unfit, toolCallId: 'w/c1' } })
    const rolledBack = await Session.resume(engineOf([writer(old(done))], done), failed)
    expect([rolledBack.session.status, ran]).toEqual(['completed', [{ title: 'T' }]])
    const args = { title: 'T', audience: 'all' }
    const again = Session.approve(failed, 'w/c1', { arguments: args })
    const { session } = await Session.resume(engine, again)
    expect([session.status, ran]).toEqual(['completed', [{ title: 'T' }, args]])
    const { session: denied } = await Session.resume(
      engineOf([writer(changed(done))], done),
      Session.deny(failed, 'w/c1', 'no'),
    )
    expect([denied.status, ran.length]).toEqual(['completed', 2])
  })
})

test('a call that the model wrote with wrong arguments is told to the model', async () => {
  const { session } = await Session.start(changed(asked, done), 'go')
  expect([session.status, results(session)]).toEqual([
    'completed',
    [expect.stringContaining('invalid arguments')],
  ])
})

describe('a run', () => {
  const scripted = (tools: readonly Tool[]): Engine =>
    createEngine({
      tools,
      adapter: fake({
        script: ({ messages }) => (messages.at(-1)?.role === 'user' ? asked : done),
      }),
    })
  /** The runs of a deploy after one in which the call was asked about. */
  const deployed = async (tools: readonly Tool[]): Promise<Runs> => {
    ran.length = 0
    const store = memoryStore()
    const before = createRuns({ store, engine: scripted([publish('title')]) })
    await before.send('a', 'go')
    await before.wait('a')
    await before.close()
    return createRuns({ store, engine: scripted(tools) })
  }

  test('rests as an error, refuses arguments that do not fit, and takes those that do', async () => {
    const runs = await deployed([publish('title', 'audience')])
    await runs.approve('a', 'c1')
    const { session: failed } = await runs.wait('a')
    expect(failed).toMatchObject({ status: 'error', error: unfit })
    const wrong = runs.approve('a', 'c1', { arguments: { title: 'T' } })
    await expect(wrong).rejects.toMatchObject({ kind: 'validation' })
    const args = { title: 'T', audience: 'all' }
    await runs.approve('a', 'c1', { arguments: args })
    expect((await runs.wait('a')).session.status).toBe('completed')
    expect(ran).toEqual([args])
    await runs.close()
  })

  test('whose tool is gone for good goes on when the call is denied', async () => {
    const runs = await deployed([])
    await runs.approve('a', 'c1')
    expect((await runs.wait('a')).session.error?.reason).toBe('unknown_tool')
    await runs.deny('a', 'c1', 'cannot be done any more')
    const { session } = await runs.wait('a')
    expect([session.status, results(session)]).toEqual([
      'completed',
      [expect.stringContaining('cannot be done any more')],
    ])
    await runs.close()
  })
})

test('a call that was approved behind a handoff whose tool is gone: the error names both', async () => {
  const next = old(asked)
  const entry = engineOf(
    [handoff(next, { name: 'to_b' })],
    [['tool_call', { id: 'h', name: 'to_b' }]],
  )
  const { session } = await Session.start(entry, 'go')
  const decided = Session.approve(session, 'c1')
  const renamed = engineOf([handoff(next, { name: 'to_bee' })], done)
  for (const engine of [renamed, engineOf([], done)]) {
    await expect(Session.resume(engine, decided)).rejects.toMatchObject({
      reason: 'unknown_tool',
      message: expect.stringMatching(/no tool publish to run it, and no tool to_b, which handed/),
      metadata: { toolName: 'publish', toolCallId: 'c1', missing: 'to_b' },
    })
  }
})
