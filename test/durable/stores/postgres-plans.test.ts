import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Session } from '../../../src/index.ts'
import { postgresStore, type PostgresParam, type RunStore } from '../../../src/stores.ts'
import { createPlace, reasonToSkip, type Place } from './postgres.ts'

/** A node of a plan, as EXPLAIN gives it. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly PlanNode[]
}

/** A statement that a store sends. */
interface Asked {
  readonly text: string
  readonly params: PostgresParam[]
}

describe.skipIf(reasonToSkip !== undefined)(
  `the plans of postgresStore with 100,000 sessions, of which 1,000 wait${reasonToSkip ?? ''}`,
  () => {
    let place: Place

    beforeAll(async () => {
      place = await createPlace('pg')
      await fill(place)
    }, 120_000)
    afterAll(() => place.remove())

    /** The reads of whole tables in the plans of what an operation asks. */
    async function wholeReads(operate: (store: RunStore) => Promise<unknown>): Promise<string[]> {
      const asked: Asked[] = []
      const { pool, schema } = place
      const store = postgresStore(
        {
          query: (text, params) => {
            asked.push({ text, params })
            return pool.query(text, params)
          },
        },
        { schema },
      )
      await operate(store)
      expect(asked.length).toBeGreaterThan(0)
      return (await Promise.all(asked.map(readsOf))).flat()
    }
    async function readsOf({ text, params }: Asked): Promise<string[]> {
      const { rows } = await place.pool.query(`explain (format json) ${text}`, params)
      const [{ 'QUERY PLAN': plans }] = rows as [{ 'QUERY PLAN': [{ Plan: PlanNode }] }]
      return readsIn(plans[0].Plan)
    }

    const lease = { owner: 'me', ttlMs: 1000 }
    const session = Session.create({ id: 's00500' })
    const operations: Readonly<Record<string, (store: RunStore) => Promise<unknown>>> = {
      load: (store) => store.load('s00500'),
      save: (store) => store.save(session),
      'save a known version': (store) =>
        store.save(Session.create({ id: 's00600' }), { ifVersion: 2 }),
      'list a page': (store) => store.list({ limit: 50 }),
      'list the next page': (store) => store.list({ after: 's10000', limit: 50 }),
      'list by prefix': (store) => store.list({ prefix: 's0001', limit: 50 }),
      'list by a rare status': (store) => store.list({ status: 'error', limit: 50 }),
      'list by a frequent status': (store) =>
        store.list({ status: 'completed', after: 's10000', limit: 50 }),
      'what waits': (store) => store.pending({ limit: 50 }),
      'the next page of what waits': (store) =>
        store.pending({ after: '[500,"s00500","t"]', limit: 50 }),
      'approvals that wait': (store) => store.pending({ kind: 'approval', limit: 50 }),
      'approvals that wait, by prefix and metadata': (store) =>
        store.pending({ kind: 'approval', prefix: 's', metadata: { tenant: 'acme' }, limit: 50 }),
      'all that waits': (store) => store.pending(),
      due: (store) => store.due({ limit: 100 }),
      claim: (store) => store.claim(lease),
      'acquire, append, save, renew and release': async (store) => {
        const taken = await store.acquire('s00700', lease)
        if (taken === undefined) throw new Error('s00700 is not free')
        await store.append('s00700', [{ type: 'text_delta', delta: 'a' }], { lease: taken })
        const events = [{ type: 'text_delta', delta: 'b' } as const]
        const own = Session.create({ id: 's00700' })
        await store.save(own, { lease: taken, events, first: true })
        await store.renew('s00700', taken, 1000)
        await store.release('s00700', taken)
      },
      push: (store) => store.push('s00800', { type: 'resume' }, { key: 'k' }),
      'push with a slot': (store) => store.push('s00800', { type: 'resume' }, { slot: 'c' }),
      'read the inbox and a key': async (store) => {
        await store.readInbox('s00800')
        await store.knowsKey('s00800', 'k')
      },
      'read events': (store) => store.readEvents('s00900', { after: 2, limit: 10 }),
      'read the log': (store) => store.readEvents('s00900', { commands: true, limit: 10 }),
      'read a snapshot': (store) => store.readSnapshot('s00900', 3),
      'look and stop': async (store) => {
        await store.look('s00900')
        await store.requestStop('s00900')
        await store.stopRequested('s00900')
      },
      delete: (store) => store.delete('s01000'),
      prune: (store) => store.prune({ keepMs: 3_600_000, limit: 10 }),
    }
    test.each(Object.keys(operations))('%s: every table is read by an index', async (name) => {
      const operate = operations[name]
      expect(operate && (await wholeReads(operate))).toEqual([])
    })

    test('what waits by prefix is found in what waits, and never in the sessions', async () => {
      const read = await wholeReads((store) => store.pending({ prefix: 's0001', limit: 50 }))
      expect(new Set(['allm_pending', ...read])).toEqual(new Set(['allm_pending']))
    })

    test('a read of a whole table is seen', async () => {
      const text = `select * from "${place.schema}"."allm_texts" where body like '%x%'`
      expect(await readsOf({ text, params: [] })).toEqual(['allm_texts'])
    })
  },
)

/** The tables that a plan reads from their beginning to their end. */
function readsIn(node: PlanNode): string[] {
  const inner = (node.Plans ?? []).flatMap(readsIn)
  const isWhole = node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== undefined
  return isWhole ? [node['Relation Name'] ?? '', ...inner] : inner
}

/** Sessions at rest, of which one in ten has a log, one in a hundred is due, one in a hundred waits and one in five hundred has failed. */
async function fill({ pool, schema }: Place): Promise<void> {
  const table = (name: string): string => `"${schema}"."allm_${name}"`
  // Each has its own id in the place of this one.
  const body = JSON.stringify(Session.create({ id: 'ID' }))
  await pool.query(
    `insert into ${table('sessions')} (id, version, status, updated_at, folded, last_event, last_command, due_at, prune_at)
      select 's' || lpad(n::text, 5, '0'), 2, case when n % 500 = 0 then 'error' else 'completed' end, n,
        case when n % 10 = 0 then 5 else 0 end, case when n % 10 = 0 then 5 else 0 end, 1,
        case when n % 100 = 1 then n end, case when n % 10 = 0 then n end
      from generate_series(0, 99999) n`,
    [],
  )
  await pool.query(
    `insert into ${table('texts')} (session, body, metadata) select key, replace($1::text, '"ID"', to_json(id)::text), '{}' from ${table('sessions')}`,
    [body],
  )
  await pool.query(
    `insert into ${table('events')} (session, number, at, body)
      select key, n, n, '{"type":"text_delta","delta":"a"}' from ${table('sessions')}, generate_series(1, 5) n where last_event > 0`,
    [],
  )
  await pool.query(
    `insert into ${table('snapshots')} (session, version, at, last_event, body)
      select key, 1, 1, 0, replace($1::text, '"ID"', to_json(id)::text) from ${table('sessions')} where last_event > 0`,
    [body],
  )
  await pool.query(
    `insert into ${table('commands')} (session, number, at, body, taken_at, position)
      select key, 1, 1, '{"type":"resume"}', 1, 0 from ${table('sessions')}`,
    [],
  )
  await pool.query(
    `insert into ${table('pending')} (session, ticket, id, kind, since, version, body)
      select key, 't', id, case when key % 10 = 0 then 'approval' else 'question' end, updated_at, version, '{"call":{}}'
      from ${table('sessions')} where updated_at % 100 = 0`,
    [],
  )
  for (const name of ['sessions', 'texts', 'events', 'snapshots', 'commands', 'pending']) {
    await pool.query(`analyze ${table(name)}`, [])
  }
}
