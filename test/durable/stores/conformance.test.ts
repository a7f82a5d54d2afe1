import { describe, test } from 'vitest'
import { register, runStoreCases, sessionStoreCases } from '../../../src/conformance.ts'
import { memoryStore } from '../../../src/stores.ts'
import {
  fileHarness,
  fileRunHarness,
  memoryHarness,
  memoryRunHarness,
} from '../../testing/conformance/stores.ts'

describe('memoryStore', () => {
  register(sessionStoreCases, memoryHarness(), test)
  register(runStoreCases, memoryRunHarness(), test)
})

describe('memoryStore by the clock of the system', () => {
  register(runStoreCases, { start: () => ({ store: memoryStore() }) }, test)
})

describe('fileStore', () => {
  register(sessionStoreCases, fileHarness(), test)
  register(runStoreCases, fileRunHarness(), test)
})
