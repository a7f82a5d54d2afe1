import type { ConformanceCase, Declares } from './conformance-case.ts'

/** A case that did not pass, and why. */
export interface FailedCase {
  readonly name: string
  readonly error: unknown
}

/** A capability that the harness does not claim, and the cases that were therefore not run. */
export interface UndeclaredCapability {
  readonly capability: string
  readonly cases: readonly string[]
}

/** How an implementation did. What was not run is listed: it is no pass. */
export interface ConformanceReport {
  readonly passed: readonly string[]
  readonly failed: readonly FailedCase[]
  readonly notDeclared: readonly UndeclaredCapability[]
}

/** Runs cases one after the other without a test runner, and says how each came out. Never rejects because of a case. */
export async function runCases<Harness extends Declares>(
  cases: readonly ConformanceCase<Harness>[],
  harness: NoInfer<Harness>,
): Promise<ConformanceReport> {
  const { asked, undeclared } = sortCases(cases, harness)
  const passed: string[] = []
  const failed: FailedCase[] = []
  for (const item of asked) {
    try {
      await item.run(harness)
      passed.push(item.name)
    } catch (error) {
      failed.push({ name: item.name, error })
    }
  }
  const notDeclared = Array.from(undeclared, ([capability, group]) => ({
    capability,
    cases: group.map(({ name }) => name),
  }))
  return { passed, failed, notDeclared }
}

/** The cases of a list, by what a harness says about itself. */
export interface SortedCases<Harness> {
  /** Those that it has to pass. */
  readonly asked: readonly ConformanceCase<Harness>[]
  /** The cases of each capability that it declares and that some case shows. */
  readonly declared: ReadonlyMap<string, readonly ConformanceCase<Harness>[]>
  /** The cases of each capability that it does not declare. */
  readonly undeclared: ReadonlyMap<string, readonly ConformanceCase<Harness>[]>
}

/** Sorts cases by what a harness declares. */
export function sortCases<Harness extends Declares>(
  cases: readonly ConformanceCase<Harness>[],
  { capabilities = [] }: Harness,
): SortedCases<Harness> {
  const asked: ConformanceCase<Harness>[] = []
  const declared = new Map<string, ConformanceCase<Harness>[]>()
  const undeclared = new Map<string, ConformanceCase<Harness>[]>()
  for (const item of cases) {
    const { capability } = item
    const claimed = capability === undefined || capabilities.includes(capability)
    if (claimed) asked.push(item)
    if (capability === undefined) continue
    const groups = claimed ? declared : undeclared
    groups.set(capability, [...(groups.get(capability) ?? []), item])
  }
  return { asked, declared, undeclared }
}
