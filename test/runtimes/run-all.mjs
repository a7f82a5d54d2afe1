import { conformanceCases } from './conformance-cases.mjs'
import { libraryCases } from './library-cases.mjs'
import { matrixCases } from './matrix-cases.mjs'
import { providerCases } from './provider-cases.mjs'
import { runCases } from './run-cases.mjs'

/** Runs the cases that every runtime has to pass, and those given. */
export function runAll(more = {}) {
  return runCases({
    ...matrixCases,
    ...providerCases,
    ...libraryCases,
    ...conformanceCases,
    ...more,
  })
}
