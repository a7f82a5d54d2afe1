import { describe, expect, test } from 'vitest'
import { messageText, type Session } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { virtualClock, type VirtualClock } from '../../../src/testing.ts'
import { letWork, processOn, type Mutant, type Process } from './mortal-process.ts'
import { scriptedEngine, toolsOf, type Effects } from './support.ts'

// A process dies before or after each of its operations on the store, and after each effect; another one goes on.

const id = 'ada'
const leaseMs = 2000

/** Tools one after the other, then an answer in pieces. */
function answers(text: string, results: number) {
  if (text === 'thanks') return [['text', 'Welcome.']] as const
  if (results === 0) return [['tool_call', { id: 'c1', name: 'note', arguments: {} }]] as const
  if (results === 1) {
    return [
      ['tool_call', { id: 'c2', name: 'charge', arguments: {} }],
      ['tool_call', { id: 'c3', name: 'note', arguments: {} }],
    ] as const
  }
  return [
    ['text', 'It is '],
    ['delay', 300],
    ['text', 'done.'],
  ] as const
}

interface World {
  readonly clock: VirtualClock
  readonly inner: RunStore
  readonly effects: Effects
}

function newWorld(): World {
  const clock = virtualClock({ auto: false })
  return { clock, inner: memoryStore({ clock }), effects: [] }
}

function runsOf({ clock, effects }: World, { store, isAlive, moment }: Process): Runs {
  const tools = toolsOf(effects, () => {
    if (!isAlive()) return false
    moment()
    return isAlive()
  })
  const engine = scriptedEngine(answers, { tools, clock })
  return createRuns({ engine, store, clock, leaseMs, execute: false })
}

/** Runs the session with a first process that dies at a moment, and then others that do not. Returns the moments of the first. */
async function play(world: World, diesAt: number): Promise<number> {
  const { clock, inner } = world
  await inner.push(id, { type: 'send', content: 'go' }, { key: 'k1' })
  await inner.push(id, { type: 'send', content: 'thanks' }, { key: 'k2' })
  const first = processOn(inner, clock, diesAt)
  await letWork(world.clock, runsOf(world, first))
  await inner.push(id, { type: 'send', content: 'go' }, { key: 'k1' })
  for (let turn = 0; turn < 4; turn++) {
    await clock.advance(leaseMs)
    const next = processOn(inner, clock, Number.POSITIVE_INFINITY)
    await letWork(world.clock, runsOf(world, next))
  }
  return first.moments()
}

async function violations({ inner, effects }: World): Promise<string[]> {
  const found: string[] = []
  const { session } = (await inner.load(id)) ?? {}
  if (session?.status !== 'completed') found.push(`the session is ${session?.status}`)
  if (effects.filter((effect) => effect === 'charge:c2').length > 1) found.push('charged twice')
  for (const effect of ['note:c1', 'note:c3']) {
    if (!effects.includes(effect)) found.push(`${effect} never happened`)
  }
  const told = session?.thread.messages.filter(({ role }) => role === 'user') ?? []
  const words = told.map(messageText).join()
  if (words !== 'go,thanks' && words !== 'go') found.push(`the user said ${words}`)
  if (session !== undefined) found.push(...chargeProblems(session, effects))
  const ids = (await inner.readEvents(id, {})).map((entry) => entry.id)
  if (!ids.every((number, at) => number === at + 1)) found.push(`numbers: ${ids.join(' ')}`)
  if ((await inner.look(id))?.running !== false) found.push('still running')
  return found
}

/** What the model was told of the charge is true. */
function chargeProblems({ thread }: Session, effects: Effects): string[] {
  const result = thread.messages.find(({ toolCallId }) => toolCallId === 'c2')
  const isTold = result !== undefined && messageText(result) === 'charge done'
  return isTold && !effects.includes('charge:c2') ? ['a charge was told that never happened'] : []
}

describe('a process that dies', () => {
  test('at any moment loses nothing, and nothing is done twice', async () => {
    const calm = newWorld()
    const moments = await play(calm, Number.POSITIVE_INFINITY)
    expect(await violations(calm)).toEqual([])
    const { session } = (await calm.inner.load(id)) ?? {}
    expect(session?.thread.messages.map(messageText).slice(-2)).toEqual(['thanks', 'Welcome.'])
    expect(moments).toBeGreaterThan(25)
    const found: string[] = []
    for (let at = 0; at < moments; at++) {
      const world = newWorld()
      await play(world, at)
      for (const violation of await violations(world)) found.push(`${at}: ${violation}`)
    }
    expect(found).toEqual([])
  })

  test('is noticed to do things twice if it does not wait for its writes', async () => {
    const found: string[] = []
    for (let at = 0; at < 60; at++) {
      const world = newWorld()
      const { clock, inner } = world
      await inner.push(id, { type: 'send', content: 'go' })
      const careless = processOn(inner, clock, at, { noWriteAhead: true })
      await letWork(world.clock, runsOf(world, careless))
      for (let turn = 0; turn < 4; turn++) {
        await clock.advance(leaseMs)
        const next = processOn(inner, clock, Number.POSITIVE_INFINITY)
        await letWork(world.clock, runsOf(world, next))
      }
      found.push(...(await violations(world)))
    }
    expect(found).toContain('charged twice')
  })
})

describe('two processes at once', () => {
  async function compete(mutant: Mutant): Promise<string[]> {
    const found: string[] = []
    for (let pause = 0; pause < 200; pause += 10) {
      const world = newWorld()
      const { clock, inner } = world
      const open = mutant.noLease === true ? withoutLease(inner) : inner
      await inner.push(id, { type: 'send', content: 'go' })
      const first = runsOf(world, processOn(open, clock, Number.POSITIVE_INFINITY))
      const second = runsOf(world, processOn(open, clock, Number.POSITIVE_INFINITY))
      const one = first.advance(id).catch(() => undefined)
      await clock.advance(pause)
      const two = second.advance(id).catch(() => undefined)
      for (let turn = 0; turn < 100; turn++) await clock.advance(50)
      await Promise.race([Promise.all([one, two]), clock.advance(60_000)])
      found.push(...(await violations(world)))
    }
    return found
  }

  test('one owns the session, and the other leaves it alone', async () => {
    expect(await compete({})).toEqual([])
  })

  test('are noticed to do things twice if there is no lease', async () => {
    expect(await compete({ noLease: true })).toContain('charged twice')
  })

  /** A store in which everybody is an owner. */
  function withoutLease(store: RunStore): RunStore {
    let token = 0
    const mine = async (): Promise<{ token: number; expiresAt: number }> => {
      const state = await store.look(id)
      const taken = await store.acquire(id, { owner: 'x', ttlMs: 1 })
      token = taken?.token ?? token
      return { token, expiresAt: state?.dueAt ?? 0 }
    }
    return {
      ...store,
      acquire: mine,
      renew: async () => true,
      append: async (name, events) => store.append(name, events, { lease: await mine() }),
      save: async (session, options) => {
        const { lease: _lease, ifVersion: _version, ...rest } = options ?? {}
        return store.save(session, { ...rest, lease: await mine() })
      },
      release: async () => false,
    }
  }
})
