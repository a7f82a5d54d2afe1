import { describe, test } from 'vitest'
import { register, streamAdapterCases } from '../../src/conformance.ts'
import { speciesHarness } from './planted/harness.ts'
import { species } from './planted/species.ts'

describe.each(Object.values(species))('the adapter $name, without a bug', (one) => {
  register(streamAdapterCases, speciesHarness(one), test)
})
