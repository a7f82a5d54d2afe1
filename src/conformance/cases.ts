import { ConformanceFailure, turns } from './demands.ts'

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

/** What a chat harness may declare, and what that claims. */
const chatCapabilities = {
  requests: 'the harness shows what was sent',
  connections: 'the harness counts open connections',
  several_calls: 'the harness plays one script after the other, one a call',
  chunking: 'the harness cuts the bytes of an answer anywhere',
  timeouts: 'requestTimeoutMs and streamTimeoutMs are kept, by options.clock',
  detailed_errors: 'a prompt that is filtered or too long is told from other refused requests',
  unsupported_feature:
    'a feature that the provider does not have is told from other refused requests',
  retry_after: 'a refusal says how long to wait',
  stream_failures: 'the provider reports failures inside a stream',
  stream_retry_after: 'a failure inside a stream says how long to wait',
  finish_reasons: 'length, content_filter and other are told from stop',
  text_blocks: 'two blocks of text stay two',
  tools: 'the model calls tools',
  parallel_tools: 'the model calls several tools in one answer',
  streamed_tools: 'the arguments of a call arrive in pieces',
  interleaved_tools: 'the pieces of several calls arrive in turn',
  raw_arguments: 'arguments that are no JSON arrive as they were written',
  reasoning: 'the model thinks aloud',
  reasoning_echo: 'reasoning goes back to the provider that it came from, and to no other',
  usage: 'tokens are counted',
  cached_usage: 'tokens that were read from a cache are counted',
  cache_write_usage: 'tokens that were written to a cache are counted',
  reasoning_usage: 'tokens that were spent on reasoning are counted',
  raw_chunks: 'what the provider sent is shown as it came',
  images: 'the model makes images',
} as const

/** One of the things that a chat harness may declare. */
export type ChatCapability = keyof typeof chatCapabilities

/** What an image harness may declare, and what that claims. */
const imageCapabilities = {
  requests: 'the harness shows what was sent',
  generate: 'new images are made',
  edit: 'images are changed',
  variation: 'images like one are made',
  error_origin: 'a failure names its provider and its run',
  several_images: 'one call gives several images',
  retry_after: 'a refusal says how long to wait',
  detailed_errors: 'a prompt that is filtered or too long is told from other refused requests',
} as const

/** One of the things that an image harness may declare. */
export type ImageCapability = keyof typeof imageCapabilities

/** What the harness of an encoder may declare, and what that claims. */
const encoderCapabilities = {
  plain_text: 'strings are written as they are',
  json: 'everything else is written as JSON',
} as const

/** One of the things that the harness of an encoder may declare. */
export type EncoderCapability = keyof typeof encoderCapabilities

/** What the harness of a session store may declare, and what that claims. */
const storeCapabilities = {
  durable: 'another store on the same place finds what was saved',
  damage: 'the harness can make what was saved unreadable',
  interruption: 'the harness can interrupt a save in the middle of its write',
} as const

/** One of the things that the harness of a session store may declare. */
export type StoreCapability = keyof typeof storeCapabilities

/** Every capability of every kind of harness, with its sentence. */
export const everyCapability: Readonly<Record<string, string>> = {
  ...chatCapabilities,
  ...imageCapabilities,
  ...encoderCapabilities,
  ...storeCapabilities,
}

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
interface SortedCases<Harness> {
  /** Those that it has to pass. */
  readonly asked: readonly ConformanceCase<Harness>[]
  /** The cases of each capability that it declares and that some case shows. */
  readonly declared: ReadonlyMap<string, readonly ConformanceCase<Harness>[]>
  /** The cases of each capability that it does not declare. */
  readonly undeclared: ReadonlyMap<string, readonly ConformanceCase<Harness>[]>
}

/** Sorts cases by what a harness declares. */
function sortCases<Harness extends Declares>(
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

/** What Node, Bun and Deno have. */
interface Host {
  on?(name: 'unhandledRejection', listener: (reason: unknown) => void): unknown
  off?(name: 'unhandledRejection', listener: (reason: unknown) => void): unknown
}

/** What browsers and workers have. */
interface Page {
  addEventListener?(name: 'unhandledrejection', listener: (event: PageEvent) => void): void
  removeEventListener?(name: 'unhandledrejection', listener: (event: PageEvent) => void): void
}

interface PageEvent {
  readonly reason: unknown
}

/** Does something, and gives the rejections meanwhile and shortly after that nobody handled. */
export async function unhandledDuring(act: () => Promise<void>): Promise<readonly unknown[]> {
  // Which of the two there is depends on the runtime; its types are not for this room to know.
  const { process: host } = globalThis as { readonly process?: Host }
  const page = globalThis as Page
  const found: unknown[] = []
  const onHost = (reason: unknown): void => void found.push(reason)
  const onPage = ({ reason }: PageEvent): void => void found.push(reason)
  if (host?.on !== undefined) host.on('unhandledRejection', onHost)
  else page.addEventListener?.('unhandledrejection', onPage)
  try {
    await act()
    // A runtime looks for them after each round of its loop.
    await turns(10)
  } finally {
    host?.off?.('unhandledRejection', onHost)
    if (host?.on === undefined) page.removeEventListener?.('unhandledrejection', onPage)
  }
  return found
}
