import { describe, test } from 'vitest'
import { register, runStoreCases, sessionStoreCases } from '../../../src/conformance.ts'
import type { SqliteDatabase } from '../../../src/stores.ts'
import { createPlace, drivers } from './sqlite.ts'

for (const { title, missing, open } of drivers) {
  describe.skipIf(missing)(`sqliteStore on ${title}`, () => {
    const start = () => {
      const place = createPlace(open)
      const disk = failing()
      return {
        store: place.connect(disk.between),
        reopen: () => place.connect(),
        connect: () => place.connect(),
        damage: (_id: string, text: string) =>
          place.open().exec(`update allm_texts set body = '${text}'`),
        interruptNextSave: disk.failNextSave,
        close: () => place.remove(),
      }
    }
    register(
      sessionStoreCases,
      { capabilities: ['durable', 'damage', 'interruption'], start },
      test,
    )
    register(runStoreCases, { capabilities: ['shared', 'own_clock', 'interruption'], start }, test)
  })
}

/** A database of which one save can be made to fail after all its writes. */
function failing() {
  let fails = false
  return {
    failNextSave: () => {
      fails = true
    },
    between: (database: SqliteDatabase): SqliteDatabase => ({
      exec: (sql) => database.exec(sql),
      prepare: (sql) => {
        const statement = database.prepare(sql)
        return {
          all: (...params) => statement.all(...params),
          run: (...params) => {
            if (!fails || sql !== 'commit') return statement.run(...params)
            fails = false
            throw new Error('the disk is full')
          },
        }
      },
    }),
  }
}
