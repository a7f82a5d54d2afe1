/** How many processors there are, where the runtime tells. */
const processors = globalThis.navigator?.hardwareConcurrency

/** How many handlers may run at once unless told: twice the processors, or 8 where their number is not known. */
export function defaultConcurrency(known: number | undefined = processors): number {
  return known === undefined || !(known > 0) ? 8 : 2 * known
}
