import {
  assertValid,
  anyFunction,
  describe,
  anySignal,
  must,
  optionsOf,
  positiveInteger,
  within,
  type Check,
} from '../../core/schema/checks.ts'

/** How far a normal deviate lies from the middle, by the confidence of the interval on both sides. */
const deviates = { 0.8: 1.281552, 0.9: 1.644854, 0.95: 1.959964, 0.99: 2.575829 } as const

/** What a run of `repeat` is told. */
export interface RepeatedRun {
  /** The number of the run, from 0. */
  readonly index: number
  /** Aborted with the signal of `repeat`. */
  readonly signal: AbortSignal
}

/** How one run ended. `error` is what it threw; a run that returned `false` has none. */
export interface RepeatOutcome {
  readonly index: number
  readonly passed: boolean
  readonly error?: unknown
}

/** Options of `repeat`. */
export interface RepeatOptions {
  /** How many runs are under way at once (1). */
  readonly concurrency?: number | undefined
  /** How sure the interval is: 0.8, 0.9, 0.95 (the default) or 0.99. */
  readonly confidence?: keyof typeof deviates | undefined
  /** Starts no further run when it is aborted. The runs that are under way get it as their `signal`. */
  readonly signal?: AbortSignal | undefined
  /** Told of each run as it ends. */
  readonly onRun?: ((outcome: RepeatOutcome) => void) | undefined
}

/** How often a run passed. */
export interface RepeatReport {
  readonly runs: number
  readonly passed: number
  /** `passed` divided by `runs`. */
  readonly passRate: number
  /** The Wilson interval of the pass rate: with the given confidence the true rate lies in it. */
  readonly interval: { readonly low: number; readonly high: number }
  readonly confidence: number
  /** The runs that failed, by their index. */
  readonly failures: readonly RepeatOutcome[]
  /** All of it in a few lines, for the message of an assertion. */
  readonly summary: string
}

/**
 * Runs something `n` times and tells how often it passed, for models that answer differently each time.
 *
 * A run fails if it throws, rejects or returns `false`. Aborting the signal rejects with its reason as soon as the runs under way have
 * ended. The interval is Wilson's, which is also right for few runs and for rates of 0 and 1.
 */
export async function repeat(
  n: number,
  run: (facts: RepeatedRun) => unknown,
  options: RepeatOptions = {},
): Promise<RepeatReport> {
  assertValid('invalid_options', [
    ...within('n', positiveInteger(n)),
    ...within('run', anyFunction(run)),
    ...checkOptions(options),
  ])
  const { concurrency = 1, confidence = 0.95, signal = new AbortController().signal } = options
  const outcomes: RepeatOutcome[] = []
  let started = 0
  const worker = async (): Promise<void> => {
    while (started < n && !signal.aborted) {
      const outcome = await outcomeOf(run, { index: started++, signal })
      if (signal.aborted) return
      outcomes.push(outcome)
      options.onRun?.(outcome)
    }
  }
  await Promise.all(Array.from({ length: Math.min(n, concurrency) }, worker))
  signal.throwIfAborted()
  return report(outcomes, confidence)
}

async function outcomeOf(
  run: (facts: RepeatedRun) => unknown,
  facts: RepeatedRun,
): Promise<RepeatOutcome> {
  const { index } = facts
  try {
    return { index, passed: (await run(facts)) !== false }
  } catch (error) {
    return { index, passed: false, error }
  }
}

function report(
  outcomes: readonly RepeatOutcome[],
  confidence: keyof typeof deviates,
): RepeatReport {
  const runs = outcomes.length
  const failures = outcomes
    .filter(({ passed }) => !passed)
    .toSorted((left, right) => left.index - right.index)
  const passed = runs - failures.length
  const interval = wilson(passed, runs, deviates[confidence])
  const rates = `${percent(passed / runs)}; ${percent(confidence)} interval ${percent(interval.low)} to ${percent(interval.high)}`
  const lines = failures.map(({ index, error }) => `run ${index}: ${messageOf(error)}`)
  const summary = [`${passed} of ${runs} passed (${rates})`, ...lines].join('\n')
  return { runs, passed, passRate: passed / runs, interval, confidence, failures, summary }
}

/** The score interval of E. B. Wilson for a share of successes. */
function wilson(passed: number, runs: number, z: number): RepeatReport['interval'] {
  const rate = passed / runs
  const scale = 1 + z ** 2 / runs
  const middle = (rate + z ** 2 / (2 * runs)) / scale
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / runs + z ** 2 / (4 * runs ** 2))
  // At the ends the formula gives 0 and 1 but for rounding.
  return {
    low: passed === 0 ? 0 : middle - half,
    high: passed === runs ? 1 : middle + half,
  }
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`
}

function messageOf(error: unknown): string {
  if (error === undefined) return 'returned false'
  return error instanceof Error ? error.message : describe(error)
}

const checkOptions: Check = optionsOf({
  concurrency: positiveInteger,
  confidence: must(
    `one of ${Object.keys(deviates).join(', ')}`,
    (value) => typeof value === 'number' && Object.hasOwn(deviates, value),
  ),
  signal: anySignal,
  onRun: anyFunction,
} satisfies Record<keyof RepeatOptions, Check>)
