import { expect, test } from 'vitest'
import {
  agentTool,
  createEngine,
  innerEvent,
  tool,
  type AnswerUsage,
  type Engine,
  type StreamEvent,
} from '../../../src/index.ts'
import type { Runs } from '../../../src/runs.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { bench } from './support.ts'

/** The ledger of the guide "Cost and models": the log has every answer that was paid, once, whatever happens to its run. */

/** The tokens of the answers in the log of a session, by the number of the entry that starts each. `undefined`: it broke off. */
async function paid(runs: Runs, id: string): Promise<ReadonlyMap<number, number | undefined>> {
  const open = new Map<string, { readonly entry: number } & Pick<AnswerUsage, 'usage'>>()
  const answers = new Map<number, number | undefined>()
  for await (const { id: entry, event } of runs.follow(id)) {
    const { at, event: own } = inside(event)
    const begun = open.get(at)
    if (own.type === 'message_started') {
      if (begun !== undefined) answers.set(begun.entry, begun.usage.inputTokens)
      open.set(at, { entry, usage: own.usage ?? {} })
    }
    if (own.type === 'message_completed' && begun !== undefined) {
      open.delete(at)
      answers.set(begun.entry, { ...begun.usage, ...own.usage }.inputTokens)
    }
  }
  for (const { entry, usage } of open.values()) answers.set(entry, usage.inputTokens)
  return answers
}

function inside(event: StreamEvent, at = ''): { readonly at: string; readonly event: StreamEvent } {
  const inner = innerEvent(event)
  const isInner = inner !== undefined && event.type === 'tool_progress'
  return isInner ? inside(inner, `${at}/${event.id}`) : { at, event }
}

const tokens = (inputTokens: number): Script[number] => ['usage', { inputTokens, outputTokens: 1 }]
const calls = (name: string, id = 'c1', args = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: args },
]
const sorted = (answers: ReadonlyMap<number, unknown>): unknown[] =>
  [...answers].toSorted(([left], [right]) => left - right).map(([, one]) => one)
const hang = new Promise<never>(() => undefined)
const schema = { type: 'object' } as const

test('an answer whose tool was cut by the death of its process is counted once, by whichever process goes on', async () => {
  const clock = virtualClock()
  let runsOfTool = 0
  let started = () => {}
  const begun = new Promise<void>((resolve) => (started = resolve))
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    schema,
    idempotent: true,
    timeoutMs: 3_600_000,
    handler: () => {
      started()
      return ++runsOfTool === 1 ? hang : 'done'
    },
  })
  const scripts: Script[] = [
    [calls('slow'), tokens(1)],
    [['text', 'ok'], tokens(2)],
    [['text', 'bye'], tokens(4)],
  ]
  const engine = createEngine({ adapter: fake({ scripts }), tools: [slow] })
  const { runs: web, store } = bench(engine, { clock, execute: false })
  await web.send('ada', 'go')
  // It renews its lease no more, and never comes back.
  const dead = bench(engine, { clock, store: { ...store, renew: () => hang }, execute: false })
  dead.runs.advance('ada').catch(() => undefined)
  await begun
  await clock.advance(30_000)
  const other = bench(engine, { clock, store, execute: false }).runs
  expect((await other.advance('ada')).outcome).toBe('completed')
  await web.send('ada', 'bye')
  await other.recover()
  expect(sorted(await paid(web, 'ada'))).toEqual([1, 2, 4])
  // Reading again gives the same keys.
  expect(await paid(other, 'ada')).toEqual(await paid(web, 'ada'))
})

test('an answer that was cut in the middle broke off, and the one after it is another', async () => {
  const clock = virtualClock()
  const scripts: Script[] = [
    [['text', 'It ra'], ['delay', 60_000], ['text', 'ins.'], tokens(1)],
    [['text', 'It rains.'], tokens(2)],
  ]
  const engine = createEngine({ adapter: fake({ scripts }) })
  const { runs: first, store } = bench(engine, { clock })
  await first.send('ada', 'go')
  for await (const { event } of first.follow('ada')) if (event.type === 'text_delta') break
  await first.close()
  const second = bench(engine, { clock, store, execute: false }).runs
  await second.recover()
  expect(sorted(await paid(second, 'ada'))).toEqual([undefined, 2])
})

test('an answer whose tools were stopped counts, also if the next words follow without a resume', async () => {
  const clock = virtualClock()
  let started = () => {}
  const begun = new Promise<void>((resolve) => (started = resolve))
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    schema,
    handler: () => {
      started()
      return hang
    },
  })
  const scripts: Script[] = [
    [calls('slow'), tokens(1)],
    [['text', 'ok'], tokens(2)],
  ]
  const engine = createEngine({ adapter: fake({ scripts }), tools: [slow] })
  const { runs } = bench(engine, { clock })
  await runs.send('ada', 'go')
  await begun
  await runs.stop('ada')
  expect((await runs.wait('ada')).session.status).toBe('halted')
  await runs.send('ada', 'never mind')
  await runs.wait('ada')
  expect(sorted(await paid(runs, 'ada'))).toEqual([1, 2])
})

test('an answer that waited for an approval counts once, and those of agents side by side count too', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema,
    needsApproval: true,
    handler: () => 'paid',
  })
  const inner = (first: number): Engine => {
    const scripts: Script[] = [
      [calls('pay', 'p1'), tokens(first)],
      [['text', 'paid'], tokens(first * 2)],
    ]
    return createEngine({ adapter: fake({ scripts }), tools: [pay] })
  }
  const help = (name: string, first: number) =>
    agentTool({ name, description: 'Helps.', engine: inner(first) })
  const prompt = { prompt: 'go' }
  const scripts: Script[] = [
    [calls('ada', 'a1', prompt), calls('bob', 'b1', prompt), calls('pay'), tokens(1)],
    [['text', 'ok'], tokens(2)],
  ]
  const tools = [pay, help('ada', 10), help('bob', 100)]
  const { runs } = bench(createEngine({ adapter: fake({ scripts }), tools }))
  await runs.send('s', 'go')
  const { session } = await runs.wait('s')
  for (const { id } of session.pendingApprovals) await runs.approve('s', id)
  expect((await runs.wait('s')).session.status).toBe('completed')
  const all = [...(await paid(runs, 's')).values()]
  expect(all.toSorted((left, right) => (left ?? 0) - (right ?? 0))).toEqual([
    1, 2, 10, 20, 100, 200,
  ])
})
