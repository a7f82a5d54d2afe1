import { describe, test } from 'vitest'
import { register, sessionStoreCases } from '../../src/conformance.ts'
import { fileHarness, memoryHarness } from './stores.ts'

describe('memoryStore', () => {
  register(sessionStoreCases, memoryHarness(), test)
})

describe('fileStore', () => {
  register(sessionStoreCases, fileHarness(), test)
})
