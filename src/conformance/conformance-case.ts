/** What every harness may say about itself. */
export interface Declares<Capability extends string = string> {
  /** What it claims to do beyond the contract's core. Absent: nothing. */
  readonly capabilities?: readonly Capability[] | undefined
}

/**
 * One thing that an implementation has to do, as data. `run` rejects with a `ConformanceFailure` when it does not.
 *
 * A case with a `capability` is for harnesses that declare it; a case without one is for all.
 */
export interface ConformanceCase<Harness, Capability extends string = string> {
  readonly name: string
  readonly capability?: Capability
  run(harness: Harness): Promise<void>
}
