import { ConformanceFailure, show, turns } from './demands.ts'

/** What every harness may declare. */
export interface Declares<Capability extends string = string> {
  /** The capabilities beyond the core of the contract. None by default. */
  readonly capabilities?: readonly Capability[] | undefined
}

/**
 * One requirement, as data. `run` rejects with a `ConformanceFailure` when an implementation does not meet it.
 *
 * A case with a `capability` applies to harnesses that declare it; a case without one applies to all.
 */
export interface ConformanceCase<Harness, Capability extends string = string> {
  readonly name: string
  readonly capability?: Capability
  run(harness: Harness): Promise<void>
}

/** The capabilities of a chat harness, and what each means. */
const chatCapabilities = {
  requests: 'the harness shows the requests that were sent',
  connections: 'the harness counts open connections',
  several_calls: 'the harness plays several scripts, one for each call',
  chunking: 'the harness splits the bytes of an answer anywhere',
  timeouts: 'requestTimeoutMs and streamTimeoutMs are enforced, by options.clock',
  detailed_errors:
    'a prompt that is filtered or too long is distinguished from other refused requests',
  unsupported_feature: 'an unsupported feature is distinguished from other refused requests',
  retry_after: 'a refusal says how long to wait',
  statuses: 'refusals have an HTTP status',
  stream_failures: 'the provider reports failures inside a stream',
  stream_retry_after: 'a failure inside a stream says how long to wait',
  finish_reasons: 'length, content_filter and other are distinguished from stop',
  text_blocks: 'two text blocks stay separate',
  tools: 'the model calls tools',
  parallel_tools: 'the model calls several tools in one answer',
  streamed_tools: 'the arguments of a call are streamed',
  interleaved_tools: 'the streamed arguments of several calls are interleaved',
  raw_arguments: 'arguments that are not JSON are kept as they were written',
  reasoning: 'the reasoning of the model is visible',
  reasoning_echo: 'reasoning is sent back to the provider that it came from, and to no other',
  usage: 'tokens are counted',
  cached_usage: 'tokens that were read from a cache are counted',
  cache_write_usage: 'tokens that were written to a cache are counted',
  reasoning_usage: 'tokens that were spent on reasoning are counted',
  raw_chunks: 'the chunks of the provider are shown unchanged',
  images: 'the model makes images',
  keys: 'the adapter sends a key, and the harness shows the keys that it was made with and that were sent',
  call_headers: 'the harness shows the headers that were sent, and those of a call are among them',
  settings: 'every setting of a request is sent, or named in warnings, or refused',
  part_options: 'the providerOptions of a message, a part and a tool are sent',
  image_input: 'images in messages are sent',
  file_input: 'files in messages are sent',
  clean_end: 'the harness can end a body early, as if it were complete',
  reset: 'the harness can break the connection in the middle of a body',
  stays_open: 'the harness can keep a connection open after the end of an answer',
  early_headers: 'the harness can send the headers of an answer long before its body',
  redirects: 'the harness can answer with a redirect',
  left_reads: 'leaving a stream ends a read that is under way',
} as const

/** A capability of a chat harness. */
export type ChatCapability = keyof typeof chatCapabilities

/** The capabilities that the harness of every model that is not chat may declare, and what each means. */
const modelCapabilities = {
  requests: 'the harness shows the requests that were sent',
  silence: 'the harness can leave a call without an answer, and counts open connections',
  timeouts:
    'requestTimeoutMs is enforced, by options.clock, and the harness can leave a call without an answer',
  keys: 'the adapter sends a key, and the harness shows the keys that were sent',
  call_headers: 'the harness shows the headers that were sent, and those of a call are among them',
  redirects: 'the harness can answer with a redirect',
  error_origin: 'a failure names its provider and its run',
  retry_after: 'a refusal says how long to wait',
  detailed_errors:
    'a prompt that is filtered or too long is distinguished from other refused requests',
} as const

/** A capability of the harness of every model that is not chat. */
export type ModelCapability = keyof typeof modelCapabilities

/** The further capabilities of an image harness, and what each means. */
const imageCapabilities = {
  generate: 'new images are made',
  edit: 'images are edited',
  variation: 'variations of an image are made',
  several_images: 'one call returns several images',
} as const

/** A capability of an image harness. */
export type ImageCapability = ModelCapability | keyof typeof imageCapabilities

/** The further capabilities of a moderation harness, and what each means. */
const moderationCapabilities = {
  image_parts: 'images are judged',
} as const

/** The further capabilities of an embedding harness, and what each means. */
const embeddingCapabilities = {
  usage: 'tokens are counted',
} as const

/** A capability of a moderation harness. */
export type ModerationCapability = ModelCapability | keyof typeof moderationCapabilities

/** A capability of an embedding harness. */
export type EmbeddingCapability = ModelCapability | keyof typeof embeddingCapabilities

/** A capability of a rerank harness. */
export type RerankCapability = ModelCapability

/** The further capabilities of a speech harness, and what each means. */
const speechCapabilities = {
  connections: 'the harness counts open connections',
  cut: 'the harness can break the connection in the middle of an answer',
  usage: 'tokens are counted',
} as const

/** A capability of a speech harness. */
export type SpeechCapability = ModelCapability | keyof typeof speechCapabilities

/** The further capabilities of a transcription harness, and what each means. */
const transcriptionCapabilities = {
  segments: 'passages have times',
  words: 'words have times',
  language: 'the language and the length of a recording are told',
  size_limit: 'the adapter has a maxBytes of at most 64 MiB, and the harness shows requests',
} as const

/** A capability of a transcription harness. */
export type TranscriptionCapability = ModelCapability | keyof typeof transcriptionCapabilities

/** The capabilities of an encoder harness, and what each means. */
const encoderCapabilities = {
  plain_text: 'strings are written as they are',
  json: 'everything else is written as JSON',
} as const

/** A capability of an encoder harness. */
export type EncoderCapability = keyof typeof encoderCapabilities

/** The capabilities of a store harness, and what each means. */
const storeCapabilities = {
  durable: 'another store at the same location finds the saved sessions',
  damage: 'the harness can make a saved session unreadable',
  interruption: 'the harness can interrupt a save in the middle of its write',
} as const

/** A capability of a store harness. */
export type StoreCapability = keyof typeof storeCapabilities

/** The capabilities of a run store harness, and what each means. */
const runStoreCapabilities = {
  shared: 'another handle reaches the same storage, as another process does',
  own_clock: 'time is that of the storage, not that of the process',
  interruption: 'the harness can interrupt a save in the middle of its write',
} as const

/** A capability of a run store harness. */
export type RunStoreCapability = keyof typeof runStoreCapabilities

/** Every capability of every kind of harness, and what it means. */
export const everyCapability: Readonly<Record<string, string>> = {
  ...modelCapabilities,
  ...imageCapabilities,
  ...moderationCapabilities,
  ...embeddingCapabilities,
  ...speechCapabilities,
  ...transcriptionCapabilities,
  ...chatCapabilities,
  ...encoderCapabilities,
  ...storeCapabilities,
  ...runStoreCapabilities,
}

/** A case that did not pass, and why. */
export interface FailedCase {
  readonly name: string
  readonly error: unknown
}

/** A capability that the harness does not declare, and the cases that were therefore not run. */
export interface UndeclaredCapability {
  readonly capability: string
  readonly cases: readonly string[]
}

/** The results of all cases. Cases that were not run are listed separately: they did not pass. */
export interface ConformanceReport {
  readonly passed: readonly string[]
  readonly failed: readonly FailedCase[]
  readonly notDeclared: readonly UndeclaredCapability[]
}

/**
 * Runs cases one after the other without a test runner, and returns the results. A failed case does not reject; a harness
 * that declares an unknown capability does. An unhandled rejection does not end the process: it fails the case in which it came.
 */
export async function runCases<Harness extends Declares>(
  cases: readonly ConformanceCase<Harness>[],
  harness: NoInfer<Harness>,
): Promise<ConformanceReport> {
  const [unknown] = unknownCapabilities(harness)
  if (unknown !== undefined) throw unknownCapability(unknown)
  const { asked, undeclared } = sortCases(cases, harness)
  const passed: string[] = []
  const failed: FailedCase[] = []
  for (const item of asked) {
    try {
      await runAlone(item, harness)
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

/** Runs a case. A rejection that nobody handles fails it by its name. */
async function runAlone<Harness>(item: ConformanceCase<Harness>, harness: Harness): Promise<void> {
  const outcome: { failure?: { readonly error: unknown } } = {}
  const [unhandled] = await unhandledDuring(async () => {
    try {
      await item.run(harness)
    } catch (error) {
      outcome.failure = { error }
    }
  })
  if (outcome.failure !== undefined) throw outcome.failure.error
  if (unhandled === undefined) return
  throw new ConformanceFailure({
    problem: `a promise was rejected and nobody handled it: ${show(unhandled)}`,
    expected: `no unhandled rejection in the case "${item.name}"`,
    received: unhandled,
    contract: 'rejections',
    hint: 'a promise that is not awaited needs its own catch',
  })
}

/** Cases sorted by the capabilities that a harness declares. */
interface SortedCases<Harness> {
  /** The cases that it must pass. */
  readonly asked: readonly ConformanceCase<Harness>[]
  /** The cases of each capability that it declares. */
  readonly declared: ReadonlyMap<string, readonly ConformanceCase<Harness>[]>
  /** The cases of each capability that it does not declare. */
  readonly undeclared: ReadonlyMap<string, readonly ConformanceCase<Harness>[]>
}

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

/** The options of `register`. */
export interface RegisterOptions {
  /** Called, when the tests run, for each capability that the harness does not declare. */
  readonly report?: ((line: string) => void) | undefined
}

/**
 * Registers every case with a test runner, as a separate test.
 *
 * For each declared capability there is one more test. It passes when all cases of the capability have passed, and runs
 * those that the runner left out. An unknown capability fails. The cases of a capability that is not declared are not
 * run; a test named "not declared: …" lists them.
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
    const run = runAlone(item, harness)
    runs.set(item.name, run)
    return run
  }
  for (const item of asked) test(item.name, () => runOf(item))
  for (const [capability, group] of declared) {
    test(`declared: ${named(capability)}`, async () => {
      for (const item of group) await (runs.get(item.name) ?? runOf(item))
    })
  }
  for (const capability of unknownCapabilities(harness)) {
    test(`declared: ${capability}`, () => Promise.reject(unknownCapability(capability)))
  }
  for (const [capability, group] of undeclared) {
    const count = group.length === 1 ? '1 case' : `${group.length} cases`
    const line = `not declared: ${named(capability)} (${count} not run)`
    test(line, async () => options.report?.(line))
  }
}

function named(capability: string): string {
  return `${capability}: ${everyCapability[capability] ?? 'unknown capability'}`
}

function unknownCapabilities({ capabilities = [] }: Declares): readonly string[] {
  return capabilities.filter((capability) => !Object.hasOwn(everyCapability, capability))
}

function unknownCapability(capability: string): ConformanceFailure {
  return new ConformanceFailure({
    expected: `one of ${Object.keys(everyCapability).join(', ')}`,
    received: capability,
    contract: 'harness',
  })
}

/** The `process` of Node, Bun and Deno. */
interface Host {
  on?(name: string, listener: (reason: unknown) => void): unknown
  off?(name: string, listener: (reason: unknown) => void): unknown
}

/** What ends a process, unless somebody listens. */
const lastResorts = ['unhandledRejection', 'uncaughtException']

/** The global of browsers and workers. */
interface Page {
  addEventListener?(name: 'unhandledrejection', listener: (event: PageEvent) => void): void
  removeEventListener?(name: 'unhandledrejection', listener: (event: PageEvent) => void): void
}

interface PageEvent {
  readonly reason: unknown
}

/** Runs `act`, and returns the unhandled rejections during it and shortly after. */
export async function unhandledDuring(act: () => Promise<void>): Promise<readonly unknown[]> {
  // The runtime has one of the two, and its types are not available in this folder.
  const { process: host } = globalThis as { readonly process?: Host }
  const page = globalThis as Page
  const found: unknown[] = []
  const onHost = (reason: unknown): void => void found.push(reason)
  const onPage = ({ reason }: PageEvent): void => void found.push(reason)
  if (host?.on !== undefined) for (const name of lastResorts) host.on(name, onHost)
  else page.addEventListener?.('unhandledrejection', onPage)
  try {
    await act()
    // A runtime reports them after a turn of its event loop.
    await turns(10)
  } finally {
    for (const name of lastResorts) host?.off?.(name, onHost)
    if (host?.on === undefined) page.removeEventListener?.('unhandledrejection', onPage)
  }
  return found
}
