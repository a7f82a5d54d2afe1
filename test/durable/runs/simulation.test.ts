import { expect, test } from 'vitest'
import { createEngine, messageText, tool, type Session, type Tool } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake, virtualClock, type ScriptFunction, type VirtualClock } from '../../../src/testing.ts'

/**
 * Many runs at once on one store, and 50 owners that die at random and are replaced. Every write takes some time. `npm run simulate`
 * plays it with 10,000 runs; `ALLM_SIMULATED_RUNS` says how many there are, and `ALLM_SEED` when the owners die.
 */
const many = Number(process.env['ALLM_SIMULATED_RUNS'] ?? 200)
const seed = Number(process.env['ALLM_SEED'] ?? 20_261_116)
const ownersAtOnce = 50
const leaseMs = 10_000
/** The mean life of an owner. A run needs about half of it. */
const lifeMs = 15_000

interface World {
  readonly clock: VirtualClock
  readonly store: RunStore
  readonly random: () => number
  readonly count: number
  /** How often each effect happened, by session, tool and call. */
  readonly effects: Map<string, number>
  readonly told: Told
  /** Tools start before their start is stored. */
  readonly isCareless: boolean
  readonly writeMs: number
}

/** What a simulation had. */
interface Told {
  deaths: number
  /** Runs that were under way when their owner died. */
  cut: number
  underWay: number
  mostUnderWay: number
}

async function simulate(count: number, isCareless: boolean = false): Promise<World> {
  // The careless ones are caught when they die while a start is being written, so that takes longer.
  const writeMs = isCareless ? 300 : 5
  const clock = virtualClock({ auto: false })
  const told = { deaths: 0, cut: 0, underWay: 0, mostUnderWay: 0 }
  const store = memoryStore({ clock })
  const world = { clock, store, random: randomOf(seed), count, told, isCareless, writeMs }
  const whole: World = { ...world, effects: new Map() }
  for (let at = 0; at < count; at++) await store.push(`s${at}`, { type: 'send', content: `${at}` })
  // The second words come while the first are being answered, and wait their turn.
  for (let at = 0; at < count; at++) {
    await store.push(`s${at}`, { type: 'send', content: `thanks ${at}` })
  }
  for (let at = 0; at < ownersAtOnce; at++) startOwner(whole)
  // Owners die as long as time passes, so the end is that nothing is due and nobody owns anything.
  for (let turn = 0; turn < 600 && !(await isAtRest(whole)); turn++) await clock.advance(1000)
  return whole
}

async function isAtRest({ store, count }: World): Promise<boolean> {
  for (let at = 0; at < count; at++) {
    if ((await store.look(`s${at}`))?.running !== false) return false
  }
  return true
}

/** Starts a process. It dies at a random time, and another one takes its place. */
function startOwner(world: World): void {
  const { clock, random, told, count } = world
  const life = { isAlive: true, held: 0 }
  const store = mortalStore(world, life)
  const tools = toolsOf(world, life)
  const runs = createRuns({
    engine: createEngine({ adapter: fake({ script: answer }), tools, clock }),
    store,
    clock: mortalClock(clock, life),
    leaseMs,
    execute: false,
  })
  runs.work({ concurrency: Math.ceil((count * 1.2) / ownersAtOnce), everyMs: 500 })
  clock.timer(-Math.log(1 - random()) * lifeMs, () => {
    life.isAlive = false
    told.deaths++
    told.cut += life.held
    told.underWay -= life.held
    clock.timer(100, () => startOwner(world))
  })
}

/** Whether a process is alive, and how many runs it has. */
interface Life {
  isAlive: boolean
  held: number
}

const never: Promise<never> = new Promise(() => undefined)

/** The store as a process sees it: writes take time, and a process that is dead writes and reads nothing. */
function mortalStore({ clock, store, told, isCareless, writeMs }: World, life: Life): RunStore {
  const slowly = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!life.isAlive) return never
    await clock.sleep(writeMs)
    if (!life.isAlive) return never
    return write()
  }
  const holding = <T>(taken: T | undefined): T | undefined => {
    if (taken === undefined) return undefined
    life.held++
    told.underWay++
    told.mostUnderWay = Math.max(told.mostUnderWay, told.underWay)
    return taken
  }
  return {
    ...store,
    look: (id) => (life.isAlive ? store.look(id) : never),
    load: (id) => (life.isAlive ? store.load(id) : never),
    claim: async (options) => holding(await slowly(() => store.claim(options))),
    acquire: async (id, options) => holding(await slowly(() => store.acquire(id, options))),
    renew: (...args) => slowly(() => store.renew(...args)),
    async release(...args) {
      const released = await slowly(() => store.release(...args))
      life.held--
      told.underWay--
      return released
    },
    append: (...args) => slowly(() => store.append(...args)),
    async save(session, options) {
      const saving = slowly(() => store.save(session, options))
      const starts = options?.events?.some(({ type }) => type === 'tool_execution_started')
      if (!isCareless || starts !== true) return saving
      saving.catch(() => undefined)
      return (options?.ifVersion ?? 0) + 1
    },
  }
}

/** What waits in a process that is dead waits for ever. */
function mortalClock(clock: VirtualClock, life: Life): VirtualClock {
  return {
    ...clock,
    timer: (ms, onTime) => clock.timer(ms, () => life.isAlive && onTime()),
    sleep: async (ms, signal) => {
      await clock.sleep(ms, signal)
      if (!life.isAlive) await never
    },
  }
}

/** Three tools in two steps, then an answer in pieces; thanks are answered at once. Models take seconds. */
const answer: ScriptFunction = ({ messages }) => {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const words = messages[last] === undefined ? '' : messageText(messages[last])
  if (words.startsWith('thanks')) return [['text', 'Welcome.']]
  const results = messages.slice(last).filter(({ role }) => role === 'tool').length
  const wait = ['delay', 500 + ((Number(words) * 7919) % 3000)]
  if (results === 0) return [wait, ['tool_call', { id: 'c1', name: 'note', arguments: {} }]]
  if (results > 1) return [['text', 'It is '], wait, ['text', 'done.']]
  return [
    wait,
    ['tool_call', { id: 'c2', name: 'charge', arguments: {} }],
    ['tool_call', { id: 'c3', name: 'note', arguments: {} }],
  ]
}

function toolsOf({ clock, effects }: World, life: Life): readonly Tool[] {
  const effect = (name: string, idempotent: boolean): Tool =>
    tool({
      name,
      description: name,
      schema: { type: 'object' },
      idempotent,
      async handler(_args, { sessionId, toolCall }) {
        if (!life.isAlive) return never
        const key = `${sessionId}:${name}:${toolCall.id}`
        effects.set(key, (effects.get(key) ?? 0) + 1)
        await clock.sleep(200)
        return life.isAlive ? `${name} done` : never
      },
    })
  return [effect('charge', false), effect('note', true)]
}

/** What must not have happened, by kind: how often it did, and the first place. */
async function violations({ store, count, effects }: World): Promise<Record<string, string>> {
  const found = new Map<string, { count: number; readonly first: string }>()
  const add = (kind: string, place: string): void => {
    const known = found.get(kind)
    if (known === undefined) found.set(kind, { count: 1, first: place })
    else known.count++
  }
  for (let at = 0; at < count; at++) {
    const id = `s${at}`
    const happened = (effect: string): number => effects.get(`${id}:${effect}`) ?? 0
    const { session } = (await store.load(id)) ?? {}
    if (session?.status !== 'completed') add(`the session is ${session?.status}`, id)
    if (happened('charge:c2') > 1) add('charged twice', id)
    if (happened('note:c1') < 1 || happened('note:c3') < 1)
      add('an idempotent tool did not run', id)
    if (session !== undefined && !isTrue(session, happened('charge:c2'))) add('told a lie', id)
    const words = session?.thread.messages.filter(({ role }) => role === 'user').map(messageText)
    if (words?.join() !== `${at},thanks ${at}`) add(`the words are not applied once in order`, id)
    const ids = (await store.readEvents(id, {})).map((entry) => entry.id)
    if (!ids.every((number, index) => number === index + 1)) add('an event number is missing', id)
    if ((await store.look(id))?.running !== false) add('it does not rest', id)
  }
  return Object.fromEntries(
    [...found].map(([kind, at]) => [kind, `${at.count}, first ${at.first}`]),
  )
}

/** Whether what the model was told of the charge is so. */
function isTrue({ thread }: Session, charges: number): boolean {
  const result = thread.messages.find(({ toolCallId }) => toolCallId === 'c2')
  return result === undefined || messageText(result) !== 'charge done' || charges > 0
}

/** The same numbers for the same seed, from 0 to 1. */
function randomOf(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

test(`${many} runs under way at once with owners that die at random: nothing is lost, nothing is doubled`, async () => {
  const world = await simulate(many)
  const { told } = world
  expect(await violations(world)).toEqual({})
  // It must have been hard: nearly all of them at once, and many cut.
  expect(told.mostUnderWay).toBeGreaterThan(0.9 * many)
  expect(told.cut).toBeGreaterThan(many / 4)
  if (process.env['ALLM_SIMULATED_RUNS'] !== undefined) console.log(many, 'runs', told)
}, 900_000)

test('tools that start before their start is stored are seen to do things twice', async () => {
  const found = await violations(await simulate(200, true))
  expect(Object.keys(found)).toEqual(['charged twice'])
}, 900_000)
