import { expect, test } from 'vitest'
import { Session } from '../../../src/index.ts'
import * as functions from '../../../src/session.ts'

test('allm-ts/session has every operation of Session, as the same function', () => {
  expect({ ...functions }).toEqual({ ...Session })
})
