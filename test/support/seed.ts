import fc from 'fast-check'

/**
 * Every property test uses this seed, so that a run repeats the one before it. `ALLM_SEED` overrides it: a number, as a failed
 * property prints it, or `random`.
 */
const fixedSeed = 20_261_116

fc.configureGlobal({ ...fc.readConfigureGlobal(), ...chosenSeed(process.env['ALLM_SEED']) })

function chosenSeed(text: string | undefined): { readonly seed?: number } {
  if (text === 'random') return {}
  if (text === undefined || text === '') return { seed: fixedSeed }
  const seed = Number(text)
  if (!Number.isInteger(seed)) {
    throw new Error(`ALLM_SEED must be an integer or "random", not ${JSON.stringify(text)}`)
  }
  return { seed }
}
