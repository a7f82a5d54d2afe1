import { expect, test } from 'vitest'
import { askUser, extendEngine, tool, type Session } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { virtualClock, type VirtualClock } from '../../../src/testing.ts'
import { letWork, processOn, type Process } from '../../durable/runs/mortal-process.ts'
import {
  agentCall,
  call,
  contents,
  planned,
  plannedEngine,
  words,
  type Effects,
} from './support.ts'

const id = 'ada'
const leaseMs = 2000

/** Two agents at once: one charges and asks before it charges again, the other has an agent that needs an approval. */
const plan = words({
  steps: [
    [
      agentCall('c1', { steps: [[call('x', 'charge')], [call('y', 'ask')]] }),
      agentCall('c2', { steps: [[agentCall('d', { steps: [[call('z', 'pay')]] })]] }),
    ],
  ],
})

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  schema: { type: 'object' },
  handler: () => askUser('Which?'),
})

interface World {
  readonly clock: VirtualClock
  readonly store: RunStore
  readonly effects: Effects
}

function newWorld(): World {
  const clock = virtualClock({ auto: false })
  return { clock, store: memoryStore({ clock }), effects: [] }
}

function runsOf({ clock, effects }: World, { store, isAlive, moment }: Process): Runs {
  const act = (name: string, needsApproval: boolean) =>
    tool({
      name,
      description: name,
      schema: { type: 'object' },
      needsApproval,
      handler: (_args, { idempotencyKey }) => {
        if (isAlive()) moment()
        if (isAlive()) effects.push(idempotencyKey)
        return `${name} done`
      },
    })
  const inmost = plannedEngine({ clock, tools: [act('charge', false), act('pay', true), ask] })
  const middle = extendEngine(inmost, { tools: [planned(inmost)] })
  const engine = plannedEngine({ clock, tools: [planned(middle)] })
  return createRuns({ engine, store, clock, leaseMs, execute: false })
}

/** A first process that dies at a moment, and then others that do not. Whatever the session waits for is settled. Returns the moments of the first. */
async function play(world: World, diesAt: number): Promise<{ moments: number; last?: Session }> {
  const { clock, store } = world
  await store.push(id, { type: 'send', content: plan })
  const first = processOn(store, clock, diesAt)
  let runs = runsOf(world, first)
  let last: Session | undefined
  for (let turn = 0; turn < 8; turn++) {
    await letWork(clock, runs)
    // The lease of a process that died is over then.
    await clock.advance(leaseMs)
    const session = (await store.load(id))?.session
    last = session
    if (session?.status === 'completed') break
    if (session?.status === 'awaiting_user') {
      const { pendingToolCallId: toolCallId } = session
      await store.push(id, { type: 'send', content: 'so', toolCallId }, { key: 'answer' })
    }
    const [approval] = session?.status === 'awaiting_approval' ? session.pendingApprovals : []
    if (approval !== undefined) {
      await store.push(id, { type: 'approve', toolCallId: approval.id }, { key: 'approval' })
    }
    if (!first.isAlive()) runs = runsOf(world, processOn(store, clock, Infinity))
  }
  return { moments: first.moments(), ...(last && { last }) }
}

test('agents lose nothing and do nothing twice when their process dies at any write', async () => {
  const calm = newWorld()
  const { moments, last } = await play(calm, Infinity)
  expect(last?.status).toBe('completed')
  expect(calm.effects).toHaveLength(2)
  expect(moments).toBeGreaterThan(60)
  const found: string[] = []
  for (let at = 0; at < moments; at += 2) {
    const world = newWorld()
    const { last: end } = await play(world, at)
    const { effects } = world
    if (end?.status !== 'completed') found.push(`${at}: the session is ${end?.status}`)
    if (new Set(effects).size !== effects.length) found.push(`${at}: twice ${effects.join()}`)
    if (end && last && contents(end).join() !== contents(last).join())
      found.push(`${at}: another thread`)
  }
  expect(found).toEqual([])
})
