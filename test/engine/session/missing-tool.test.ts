import { describe, expect, test } from 'vitest'
import {
  agentTool,
  chat,
  createEngine,
  Session,
  type Engine,
  type EngineOptions,
  type Tool,
} from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { call, named } from '../chat/support.ts'

/** A call that somebody approved is run, or the run fails and the decision stays: a deploy may have renamed its tool. */

const refund = named('refund', () => 'paid back', { needsApproval: true })
const engineOf = (
  tools: readonly Tool[],
  scripts: readonly Script[],
  options: Partial<EngineOptions> = {},
): Engine => createEngine({ ...options, tools, adapter: fake({ scripts }) })
const answer: Script = [['text', 'Your money is on its way.']]

/** A session that waits for the approval of `refund`. */
const waiting = async (): Promise<Session> =>
  (await Session.start(engineOf([refund], [[call('c1', 'refund')]]), 'Money back!')).session
const results = ({ thread }: Session): unknown[] =>
  thread.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
const lost = {
  kind: 'engine',
  reason: 'unknown_tool',
  message: expect.stringMatching(/c1 was approved.*no tool refund.*resume/),
  metadata: { toolName: 'refund', toolCallId: 'c1', missing: 'refund' },
}

describe('a call that was approved, and whose tool this engine does not have', () => {
  const other = named('refund_order', () => 'paid back')

  test.each([
    ['other tools', [other]],
    ['no tools', []],
  ])('fails the run of an engine with %s, and one with the tool goes on', async (_name, tools) => {
    const approved = Session.approve(await waiting(), 'c1')
    await expect(Session.resume(engineOf(tools, [answer]), approved)).rejects.toMatchObject(lost)
    const { session } = await Session.resume(engineOf([refund], [answer]), approved)
    expect([session.status, results(session)]).toEqual(['completed', ['paid back']])
  })

  test('fails a stream, whose session can be resumed', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    const stream = Session.streamNext(engineOf([other], [answer]), approved)
    await expect(stream.result).rejects.toMatchObject(lost)
    const { session } = await Session.resume(engineOf([refund], [answer]), stream.session)
    expect([session.status, results(session)]).toEqual(['completed', ['paid back']])
  })

  test('fails a single step, too', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    await expect(Session.step(engineOf([other], [answer]), approved)).rejects.toMatchObject(lost)
  })

  test('fails before any other call of the answer runs', async () => {
    let charged = 0
    const charge = named('charge', () => ++charged, { needsApproval: true })
    const calls: Script = [call('c0', 'charge'), call('c1', 'refund')]
    const first = await Session.start(engineOf([refund, charge], [calls]), 'go')
    const both = Session.approve(Session.approve(first.session, 'c0'), 'c1')
    await expect(Session.resume(engineOf([charge], [answer]), both)).rejects.toMatchObject(lost)
    expect(charged).toBe(0)
  })

  test('fails when it was approved late, and the words of the user stay', async () => {
    const first = await waiting()
    const { session: later } = await Session.reply(engineOf([refund], [answer]), first, 'And?')
    const approved = Session.approve(later, 'c1')
    await expect(Session.resume(engineOf([other], [answer]), approved)).rejects.toMatchObject(lost)
    const { session } = await Session.resume(engineOf([refund], [answer]), approved)
    expect(session.status).toBe('completed')
    expect(session.thread.messages.at(-2)?.content).toContain('paid back')
  })

  test('fails when the user says something first', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    const without = engineOf([other], [answer])
    await expect(Session.reply(without, approved, 'And?')).rejects.toMatchObject(lost)
  })

  test('fails when it was started before the run was cut: only its tool says whether it may run again', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    const stream = Session.streamNext(engineOf([refund], [answer]), approved)
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const cut = stream.session
    await expect(Session.resume(engineOf([other], [answer]), cut)).rejects.toMatchObject(lost)
    const { session } = await Session.resume(engineOf([refund], [answer]), cut)
    expect([session.status, results(session)]).toEqual([
      'completed',
      [expect.stringContaining('interrupted')],
    ])
  })

  test('fails a chat that takes the decision as an option', async () => {
    const { thread } = await chat(engineOf([refund], [[call('c1', 'refund')]]), 'go')
    for (const tools of [[other], []]) {
      const engine = engineOf(tools, [answer])
      const going = chat(engine, thread, { approvals: { c1: true } })
      await expect(going).rejects.toMatchObject(lost)
    }
  })

  test('fails when it is inside an agent, whether the agent or its tool is missing', async () => {
    const help = (tools: readonly Tool[], ...scripts: Script[]): Tool =>
      agentTool({ name: 'help', description: 'Helps.', engine: engineOf(tools, scripts) })
    const ask: Script = [
      ['tool_call', { id: 'a1', name: 'help', arguments: { prompt: 'Pay back.' } }],
    ]
    const outer = engineOf([help([refund], [call('c1', 'refund')])], [ask])
    const approved = Session.approve((await Session.start(outer, 'go')).session, 'a1/c1')
    const facts = { toolName: 'refund', toolCallId: 'a1/c1' }
    const inside = { ...lost, metadata: { ...facts, missing: 'refund' } }
    for (const tools of [[help([other], answer)], [help([], answer)]]) {
      const going = Session.resume(engineOf(tools, [answer]), approved)
      await expect(going).rejects.toMatchObject(inside)
    }
    await expect(Session.resume(engineOf([], [answer]), approved)).rejects.toMatchObject({
      ...lost,
      message: expect.stringMatching(/a1\/c1 was approved.*no tool help, the agent.*refund/),
      metadata: { ...facts, missing: 'help' },
    })
    const { session } = await Session.resume(engineOf([help([refund], answer)], [answer]), approved)
    expect([session.status, results(session)]).toEqual(['completed', ['Your money is on its way.']])
  })
})

describe('these go on without the tool', () => {
  test('a call that was denied', async () => {
    const denied = Session.deny(await waiting(), 'c1', 'too late')
    const { session } = await Session.resume(engineOf([], [answer]), denied)
    expect([session.status, results(session)]).toEqual([
      'completed',
      [expect.stringContaining('too late')],
    ])
  })

  test('a call that nobody was asked about: the model is told', async () => {
    const engine = engineOf([refund], [[call('c1', 'refnd')], answer])
    const { session } = await Session.start(engine, 'go')
    expect([session.status, results(session)]).toEqual([
      'completed',
      [expect.stringContaining('there is no tool refnd')],
    ])
  })

  test('a call that the caller answers in manual mode', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    const { session } = await Session.resume(engineOf([], [answer]), approved, { mode: 'manual' })
    expect(session).toMatchObject({ status: 'awaiting_tools', pendingToolCalls: [{ id: 'c1' }] })
  })

  test('a call whose tool prepareStep brings', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    const prepareStep = () => ({ tools: [refund] })
    const { session } = await Session.resume(engineOf([], [answer], { prepareStep }), approved)
    expect([session.status, results(session)]).toEqual(['completed', ['paid back']])
  })

  test('a call that has its result already', async () => {
    const approved = Session.approve(await waiting(), 'c1')
    const stream = Session.streamNext(engineOf([refund], [answer]), approved)
    for await (const event of stream) if (event.type === 'tool_execution_completed') break
    const { session } = await Session.resume(engineOf([], [answer]), stream.session)
    expect([session.status, results(session)]).toEqual(['completed', ['paid back']])
  })
})

test('a tool that only an executor runs is missing where there is none', async () => {
  const { handler: _handler, ...bare } = refund
  const approved = Session.approve(await waiting(), 'c1')
  await expect(Session.resume(engineOf([bare], [answer]), approved)).rejects.toMatchObject(lost)
  const toolExecutor = () => 'by the executor'
  const { session } = await Session.resume(engineOf([bare], [answer], { toolExecutor }), approved)
  expect(results(session)).toEqual(['by the executor'])
})
