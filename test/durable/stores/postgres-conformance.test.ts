import { afterAll, beforeAll, describe, test } from 'vitest'
import { register, runStoreCases, sessionStoreCases } from '../../../src/conformance.ts'
import type { PostgresPool } from '../../../src/stores.ts'
import { clients, createPlace, type Place } from './postgres.ts'

for (const { title, missing, open, ownClock } of clients) {
  describe.skipIf(missing)(`postgresStore on ${title}`, () => {
    let place: Place
    beforeAll(async () => {
      place = await createPlace(open)
    })
    afterAll(() => place.remove())

    const start = () => {
      const disk = failing()
      return {
        store: place.connect(disk.between),
        reopen: () => place.connect(),
        connect: () => place.connect(),
        damage: (_id: string, text: string) =>
          place.pool.query(`update "${place.schema}"."allm_texts" set body = $1`, [text]),
        interruptNextSave: disk.failNextSave,
        close: () => place.clear(),
      }
    }
    register(
      sessionStoreCases,
      { capabilities: ['durable', 'damage', 'interruption'], start },
      test,
    )
    register(
      runStoreCases,
      {
        capabilities: ownClock
          ? ['shared', 'own_clock', 'interruption']
          : ['shared', 'interruption'],
        start,
      },
      test,
    )
  })
}

/** A pool of which one save can be made to fail after all its writes. */
function failing() {
  let fails = false
  return {
    failNextSave: () => {
      fails = true
    },
    between: (pool: PostgresPool): PostgresPool => ({
      query: (text, params) => {
        if (!fails || !text.endsWith(' from saved')) return pool.query(text, params)
        fails = false
        return pool.query(
          text.replace(/ from saved$/, ', 1 / (version - version) from saved'),
          params,
        )
      },
    }),
  }
}
