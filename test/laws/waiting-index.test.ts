import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  halt,
  Session,
  tool,
  type Engine,
  type Tool,
} from '../../src/index.ts'
import { createRuns, type Runs } from '../../src/runs.ts'
import { fileStore, memoryStore, type PendingRow, type RunStore } from '../../src/stores.ts'
import { fake, type Script } from '../../src/testing.ts'
import { createPlace, drivers } from '../durable/stores/sqlite.ts'

/**
 * Law 15 for stores: whatever is done to several sessions, the index of what waits is `Session.pending` of all sessions that are
 * stored, every call keeps the time since when it waits, and pages of it have every call once.
 */
const names = ['look', 'stop', 'pay', 'pay', 'ask', 'book', 'hand', 'helper'] as const

/** An answer of the model: a text, a failure, or calls. */
const answer = fc.oneof(
  { weight: 2, arbitrary: fc.constant('text' as const) },
  { weight: 1, arbitrary: fc.constant('failure' as const) },
  { weight: 5, arbitrary: fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }) },
)

const move = fc.record({
  id: fc.constantFrom('ada~1', 'ada~2', 'bob~1'),
  choice: fc.nat({ max: 1000 }),
  stops: fc.boolean(),
})

type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never

const sqlite = drivers.find(({ missing }) => !missing)

describe.each<[name: string, numRuns: number, isMissing: boolean, open: () => Opened]>([
  ['memory', 60, false, () => ({ store: memoryStore(), close: () => undefined })],
  ['a folder', 8, false, openFolder],
  ['SQLite', 20, sqlite === undefined, openSqlite],
])('the index of what waits in %s', (_name, numRuns, isMissing, open) => {
  test.skipIf(isMissing)(
    'is Session.pending of all sessions, after any messages, answers, decisions, results, stops and failures',
    async () => {
      const arbitraries = [
        fc.array(answer, { maxLength: 12 }),
        fc.array(move, { minLength: 6, maxLength: 18 }),
      ] as const
      const property = fc.asyncProperty(...arbitraries, async (answers, moves) => {
        const { store, close } = open()
        try {
          await drive(store, answers, moves)
        } finally {
          await close()
        }
      })
      await fc.assert(property, { numRuns, seed: 41 })
    },
    // Stops a test that hangs.
    600_000,
  )
})

test('these sessions wait for everything, also inside agents, and in every status that a session can wait in', () => {
  const statuses = ['awaiting_user', 'awaiting_approval', 'error', 'halted']
  const wanted = [
    'question',
    'approval',
    'result',
    'inside',
    ...statuses.map((one) => `while ${one}`),
  ]
  expect([...seen]).toEqual(expect.arrayContaining(wanted))
})

/** What waited at some time: kinds of calls, and the statuses of sessions with approvals. */
const seen = new Set<string>()

interface Opened {
  readonly store: RunStore
  readonly close: () => unknown
}

function openFolder(): Opened {
  const folder = mkdtempSync(join(tmpdir(), 'allm-waiting-'))
  return { store: fileStore(folder), close: () => rmSync(folder, { recursive: true }) }
}

function openSqlite(): Opened {
  if (sqlite === undefined) throw new Error('no driver of SQLite')
  const place = createPlace(sqlite.open)
  return { store: place.connect(), close: () => place.remove() }
}

async function drive(
  store: RunStore,
  answers: readonly Answer[],
  moves: readonly Move[],
): Promise<void> {
  await using runs = createRuns({ engine: engineOf(answers), store })
  let before: readonly PendingRow[] = []
  for (const { id, choice, stops } of moves) {
    const isDeleted = await act(runs, store, id, choice)
    if (stops) await runs.stop(id)
    if (!isDeleted) await runs.wait(id)
    const rows = await checkIndex(runs, store)
    for (const { sessionId, ticket, since } of before) {
      const now = rows.find((row) => row.sessionId === sessionId && row.ticket === ticket)
      // A run that goes on asks about its calls again.
      if (now !== undefined && sessionId !== id) expect(now.since).toBe(since)
    }
    before = rows
  }
}

/** Does one of the things that are legal. Returns whether the session was deleted. */
async function act(runs: Runs, store: RunStore, id: string, choice: number): Promise<boolean> {
  const session = (await runs.get(id))?.session ?? Session.create({ id })
  if (choice % 29 === 0) {
    await runs.delete(id)
    return true
  }
  const metadata = { tenant: id.slice(0, 3), choice }
  const ways: (() => Promise<unknown>)[] = [
    () => runs.send(id, 'go on', { metadata }),
    async () => {
      await store.push(id, { type: 'send', content: 'and now?', answers: null, metadata })
      await runs.advance(id)
    },
    ...Session.pending(session).flatMap(({ kind, call }): (() => Promise<unknown>)[] => {
      if (kind === 'result') return [() => runs.submitToolResult(id, call.id, 'by hand')]
      if (kind === 'question') return [() => runs.send(id, 'an answer')]
      return [
        () => runs.approve(id, call.id),
        () => runs.approve(id, call.id, { arguments: { choice } }),
        () => runs.deny(id, call.id, 'no'),
      ]
    }),
  ]
  if (Session.legalOperations(session).includes('resume')) ways.push(() => runs.resume(id))
  await (ways[choice % ways.length] ?? ways[0])?.()
  return false
}

/** Compares the index with the sessions, and returns it. */
async function checkIndex(runs: Runs, store: RunStore): Promise<readonly PendingRow[]> {
  const stored = await Promise.all((await store.list()).map(({ id }) => store.load(id)))
  const wanted = stored.flatMap((found) => {
    if (found === undefined) return []
    const { id: sessionId, metadata, status } = found.session
    for (const { kind, call } of Session.pending(found.session)) {
      seen.add(kind)
      if (kind === 'approval') seen.add(`while ${status}`)
      if (call.id.includes('/')) seen.add('inside')
    }
    // A row waits since its save, by the clock of the store, so that no page of the index comes before the page before it.
    return Session.pending(found.session).map(({ since: _since, ...call }) => {
      return { ...call, sessionId, metadata }
    })
  })
  const { rows } = await runs.pending()
  const named = <Row extends Pick<PendingRow, 'sessionId' | 'ticket'>>(all: readonly Row[]) =>
    Object.fromEntries(all.map((row) => [`${row.sessionId} ${row.ticket}`, row]))
  expect(named(rows.map(({ since: _since, ...row }) => row))).toEqual(named(wanted))
  expect(rows).toHaveLength(wanted.length)
  const paged: PendingRow[] = []
  let after: string | undefined
  do {
    const page = await runs.pending({ limit: 2, after })
    paged.push(...page.rows)
    after = page.next
  } while (after !== undefined)
  expect(paged).toEqual(rows)
  const ofAda = await runs.pending({ kind: 'approval', prefix: 'ada~' })
  expect(ofAda.rows).toEqual(
    rows.filter(({ kind, sessionId }) => kind === 'approval' && sessionId.startsWith('ada~')),
  )
  return rows
}

function engineOf(answers: readonly Answer[]): Engine {
  let count = 0
  const scripts = (given: Answer | undefined): Script => {
    if (given === undefined || given === 'text') return [['text', 'words']]
    if (given === 'failure')
      return [
        ['text', 'half'],
        ['error', 'provider_unavailable'],
      ]
    const prefix = count
    return given.map((name, at) => [
      'tool_call',
      { id: `c${prefix}.${at}`, name, arguments: name === 'helper' ? { prompt: 'help' } : {} },
    ])
  }
  const adapter = fake({ script: () => scripts(answers[count++]) })
  const inner = fake({
    script: ({ messages }) =>
      messages.length > 1
        ? [['text', 'helped']]
        : [
            ['tool_call', { id: 'p', name: 'pay', arguments: {} }],
            ['tool_call', { id: 'q', name: 'book', arguments: {} }],
          ],
  })
  const helper = createEngine({ adapter: inner, tools })
  return createEngine({
    adapter,
    maxTurns: 4,
    tools: [...tools, agentTool({ name: 'helper', description: 'Helps.', engine: helper })],
  })
}

const schema = { type: 'object' }

const tools: readonly Tool[] = [
  tool({ name: 'look', description: 'Looks.', schema, handler: () => 'seen' }),
  tool({ name: 'stop', description: 'Halts.', schema, handler: () => halt('found', 1) }),
  tool({ name: 'pay', description: 'Pays.', schema, needsApproval: true, handler: () => 'paid' }),
  tool({ name: 'ask', description: 'Asks.', schema, handler: () => askUser('Which?', { a: 1 }) }),
  tool({
    name: 'book',
    description: 'Asks, and is called again.',
    schema,
    handler: (_args, { answer: given }) => given ?? askUser('Sure?', { resume: true }),
  }),
  tool({ name: 'hand', description: 'By hand.', schema, manual: true }),
]
