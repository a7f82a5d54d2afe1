import { everyCapability } from './capabilities.ts'
import type { ConformanceCase, Declares } from './conformance-case.ts'
import { ConformanceFailure } from './conformance-failure.ts'
import { sortCases } from './run-cases.ts'

/** The `test` of any test runner: Vitest, `node:test`, Jest, Bun, or a function of your own. */
export type TestFunction = (name: string, run: () => Promise<void>) => unknown

/** What goes with a registration. */
export interface RegisterOptions {
  /** Is told, when the tests run, of each capability that the harness does not declare. */
  readonly report?: ((line: string) => void) | undefined
}

/**
 * Hands every case to a test runner, as a test of its own.
 *
 * What the harness declares has to be shown: for each declared capability there is one more test, which passes when all of its cases
 * have passed and runs those that the runner left out; a capability that does not exist fails. What it does not declare is not run,
 * and says so in a test named "not declared: …".
 */
export function register<Harness extends Declares>(
  cases: readonly ConformanceCase<Harness>[],
  harness: NoInfer<Harness>,
  test: TestFunction,
  options: RegisterOptions = {},
): void {
  const { asked, declared, undeclared } = sortCases(cases, harness)
  const runs = new Map<string, Promise<void>>()
  const runOf = (item: ConformanceCase<Harness>): Promise<void> => {
    const run = item.run(harness)
    runs.set(item.name, run)
    return run
  }
  for (const item of asked) test(item.name, () => runOf(item))
  for (const [capability, group] of declared) {
    test(`declared: ${named(capability)}`, async () => {
      for (const item of group) await (runs.get(item.name) ?? runOf(item))
    })
  }
  for (const capability of harness.capabilities ?? []) {
    if (!Object.hasOwn(everyCapability, capability)) {
      test(`declared: ${capability}`, () => Promise.reject(unknownCapability(capability)))
    }
  }
  for (const [capability, group] of undeclared) {
    const count = group.length === 1 ? '1 case' : `${group.length} cases`
    const line = `not declared: ${named(capability)} (${count} not run)`
    test(line, async () => options.report?.(line))
  }
}

function named(capability: string): string {
  return `${capability}: ${everyCapability[capability] ?? 'nothing that is known here'}`
}

function unknownCapability(capability: string): ConformanceFailure {
  return new ConformanceFailure({
    expected: `one of ${Object.keys(everyCapability).join(', ')}`,
    received: capability,
    contract: 'harness',
  })
}
