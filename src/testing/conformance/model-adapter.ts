import type { AdapterOptions, ModelAdapter } from '../../core/contracts/adapter.ts'
import { isAllmError, type AdapterErrorReason } from '../../core/errors/errors.ts'
import { json } from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { ErrorData, ErrorKind } from '../../core/types/error-data.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { virtualClock } from '../fakes/virtual-clock.ts'
import { demandCancelled, echoedKey, plainKey } from './adapter-demands.ts'
import type { ConformanceCase, Declares, ModelCapability } from './cases.ts'
import {
  ConformanceFailure,
  defaultPatienceMs,
  demand,
  until,
  within,
  type ContractName,
} from './demands.ts'
import { runId, whileTimePasses } from './harness.ts'
import { countedClock, demandKeysHidden, demandNoKey } from './invariants.ts'

/** Starts an adapter whose calls are answered by a script of the matching fake. */
export interface ModelHarness<
  Adapter,
  Entry,
  Capability extends string,
> extends Declares<Capability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time before it reports that a call hangs (30 000). */
  readonly patienceMs?: number | undefined
  /**
   * Makes a new adapter whose calls play the entries, one after the other. What an `ok` entry has is sent as it is, also when it is not what was
   * asked for; an `error` entry is refused with its `status` (307 with `metadata.location` is a redirect), its message and `retryAfterMs`.
   */
  start(
    script: readonly Entry[],
    options?: ModelStartOptions,
  ): StartedModelAdapter<Adapter> | Promise<StartedModelAdapter<Adapter>>
}

/** How a script is played. A harness supports the options of the capabilities that it declares. */
export interface ModelStartOptions {
  /** The calls are received, and no byte of an answer comes. The capabilities `silence` and `timeouts` need it. */
  readonly silent?: boolean | undefined
}

/** An adapter, and a view of its requests and connections. */
export interface StartedModelAdapter<Adapter> {
  readonly adapter: Adapter
  /** The requests so far, as JSON: URLs and bodies, without the headers that contain the key. */
  requests?(): readonly unknown[]
  /** The number of open connections. The capability `silence` needs it. */
  openConnections?(): number
  /** The key of each request so far, as the provider received it. The capability `keys` needs it: the key of a call must win. */
  sentKeys?(): readonly (string | undefined)[]
  /** The headers of each request so far, with names in lower case. The capability `call_headers` needs it. */
  sentHeaders?(): readonly Readonly<Record<string, unknown>>[]
  /** Closes everything that is still open. Called once, after the case. */
  close?(): unknown
}

/** How the cases of one kind of model make their calls. */
export interface ModelPlay<Adapter, Request, Response> {
  /** What a call is called in the names of cases: `an image call`. */
  readonly call: string
  /** What a response must be. */
  readonly contract: ContractName
  /** What a failure must be: an `AdapterError` without it. */
  readonly failure?: FailureOf
  request(model: string, fields: Partial<Request> | undefined): Request
  send(adapter: Adapter, request: Request, options: AdapterOptions): Promise<Response>
}

/** The errors of a kind of model. */
interface FailureOf {
  readonly contract: ContractName
  readonly kind: ErrorKind
  readonly name: string
}

const adapterFailure: FailureOf = {
  contract: 'modelFailure',
  kind: 'adapter',
  name: 'AdapterError',
}

/** What a case works with. */
export interface ModelFixture<Adapter, Request, Response> {
  readonly adapter: Adapter
  readonly patienceMs: number
  requests(): readonly unknown[]
  openConnections(): number
  sentKeys(): readonly (string | undefined)[]
  sentHeaders(): readonly Readonly<Record<string, unknown>>[]
  /** A request with the fields that it needs. */
  request(fields?: Partial<Request>): Request
  /** Makes a call and returns how it ended. */
  call(request: Request, options?: AdapterOptions): Promise<ModelOutcome<Response>>
  /** Makes a call that must not fail. */
  succeed(fields?: Partial<Request>, options?: AdapterOptions): Promise<Response>
}

/** How a call ended. */
export interface ModelOutcome<Response> {
  readonly response?: Response
  readonly failure?: { readonly thrown: unknown }
}

/** Starts an adapter for a script, runs `act`, and closes the adapter in any case. */
export async function playModel<Adapter, Entry, Request, Response>(
  harness: ModelHarness<Adapter, Entry, string>,
  play: ModelPlay<Adapter, Request, Response>,
  script: readonly Entry[],
  act: (fixture: ModelFixture<Adapter, Request, Response>) => Promise<void>,
): Promise<void> {
  const started = await harness.start(script)
  try {
    await act(fixtureOf(harness, play, started))
  } finally {
    await started.close?.()
  }
}

function fixtureOf<Adapter, Entry, Request, Response>(
  harness: ModelHarness<Adapter, Entry, string>,
  play: ModelPlay<Adapter, Request, Response>,
  started: StartedModelAdapter<Adapter>,
): ModelFixture<Adapter, Request, Response> {
  type Fixture = ModelFixture<Adapter, Request, Response>
  const { adapter } = started
  const { contract } = play
  const { model = 'conformance-model', patienceMs = defaultPatienceMs } = harness
  const wait = { ms: patienceMs, expected: 'the call to be settled', contract } as const
  const request: Fixture['request'] = (fields) => play.request(model, fields)
  const call: Fixture['call'] = async (asked, options) => {
    try {
      const given = play.send(adapter, asked, { requestId: runId, ...options })
      return { response: await within(given, wait) }
    } catch (thrown) {
      if (thrown instanceof ConformanceFailure) throw thrown
      return { failure: { thrown } }
    }
  }
  return {
    adapter,
    patienceMs,
    request,
    call,
    requests: () => shown(started.requests?.(), 'requests', 'requests'),
    openConnections: () => shown(started.openConnections?.(), 'openConnections', 'silence'),
    sentKeys: () => shown(started.sentKeys?.(), 'sentKeys', 'keys'),
    sentHeaders: () => shown(started.sentHeaders?.(), 'sentHeaders', 'call_headers'),
    async succeed(fields, options) {
      const { response, failure } = await call(request(fields), options)
      if (response !== undefined) return response
      throw new ConformanceFailure({
        expected: 'a response',
        received: failure?.thrown,
        contract,
      })
    },
  }
}

/** What a harness shows, which it has to if it declares the capability. */
function shown<T>(view: T | undefined, name: string, capability: ModelCapability): T {
  if (view !== undefined) return view
  const expected = `the harness, which declares ${capability}, to return ${name}() from start`
  throw new ConformanceFailure({ expected, received: undefined, contract: 'harness' })
}

/** The fields of responses and requests that the shared cases look at. */
interface AnyResponse {
  readonly requestId: string
  readonly provider: string
  readonly metadata: JsonObject
}

/** The entries of the shared cases: one that is answered, and one that fails. */
export interface ModelCaseScript<Entry> {
  readonly ok: Entry
  error(data: ErrorData): Entry
}

/**
 * The cases that every model has: what its responses say, how its calls fail, and how they are made.
 */
export function sharedModelCases<
  Adapter extends ModelAdapter,
  Entry,
  Request extends { readonly model?: string; readonly metadata: JsonObject },
  Response extends AnyResponse,
>(
  play: ModelPlay<Adapter, Request, Response>,
  script: ModelCaseScript<Entry>,
): {
  readonly responses: readonly ConformanceCase<
    ModelHarness<Adapter, Entry, string>,
    ModelCapability
  >[]
  readonly failures: readonly ConformanceCase<
    ModelHarness<Adapter, Entry, string>,
    ModelCapability
  >[]
  readonly conduct: readonly ConformanceCase<
    ModelHarness<Adapter, Entry, string>,
    ModelCapability
  >[]
} {
  type Case = ConformanceCase<ModelHarness<Adapter, Entry, string>, ModelCapability>
  type Act = (fixture: ModelFixture<Adapter, Request, Response>) => Promise<void>
  const { call, contract, failure: failed = adapterFailure } = play
  const answered =
    (act: Act): Case['run'] =>
    (harness) =>
      playModel(harness, play, [script.ok], act)
  const unanswered =
    (act: Act): Case['run'] =>
    (harness) =>
      playModel(silent(harness), play, [script.ok], act)
  const failing =
    (data: ErrorData, act: Act): Case['run'] =>
    (harness) =>
      playModel(harness, play, [script.error(data)], act)
  const failure = (reason: AdapterErrorReason, facts: Partial<ErrorData>): ErrorData => ({
    kind: failed.kind,
    reason,
    message: 'scripted error',
    ...facts,
  })
  const redirected = failure('unknown', {
    status: 307,
    metadata: { location: '/conformance-elsewhere' },
  })
  // A request of any kind has metadata, and may be given some.
  const withMetadata = (metadata: JsonObject): Partial<Request> =>
    ({ metadata }) as Partial<Request>
  const responses: readonly Case[] = [
    {
      name: 'a response has the id of its run and the name of its provider',
      run: answered(async (fixture) => {
        const { requestId, provider } = await fixture.succeed()
        demand(requestId === runId && provider === fixture.adapter.provider, {
          expected: `requestId ${runId} and provider ${fixture.adapter.provider}`,
          received: { requestId, provider },
          contract,
        })
      }),
    },
    {
      name: 'the metadata of a request is on its response',
      run: answered(async (fixture) => {
        const asked: JsonObject = { trace: 'trace-1', user: { name: 'Ada' } }
        const { metadata } = await fixture.succeed(withMetadata(asked))
        const kept = Object.keys(asked).every((key) => sameJson(metadata[key], asked[key]))
        demand(kept, {
          expected: `metadata with ${JSON.stringify(asked)}`,
          received: metadata,
          contract,
        })
      }),
    },
    {
      name: 'a response is plain JSON',
      run: answered(async (fixture) => {
        const issues = json(await fixture.succeed())
        demand(issues.length === 0, {
          expected: 'a response of plain JSON',
          received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
          contract: 'plainData',
        })
      }),
    },
    {
      name: `${call} does not change the request`,
      run: answered(async (fixture) => {
        const request = fixture.request(withMetadata({ trace: 'trace-1' }))
        const before = structuredClone(request)
        await fixture.call(request)
        demand(sameJson(request, before), {
          expected: 'the request as it was before the call',
          received: request,
          contract: 'isolated',
        })
      }),
    },
    {
      name: 'the key is in no response',
      run: answered(async (fixture) => {
        const { response, failure: ended } = await fixture.call(fixture.request(), {
          apiKey: plainKey,
        })
        demandNoKey(plainKey, [response, ended?.thrown])
      }),
    },
    {
      name: 'the key is on no property of the adapter',
      async run(harness) {
        const isSent = harness.capabilities?.includes('keys') === true
        for (const options of [{}, { apiKey: plainKey }]) {
          await playModel(harness, play, [script.ok], async (fixture) => {
            await fixture.call(fixture.request(), options)
            const sent = isSent ? fixture.sentKeys() : []
            demandKeysHidden(fixture.adapter, [plainKey, ...sent])
          })
        }
      },
    },
  ]
  const failures: readonly Case[] = [
    ...refusals.map(([reason, status, capability]) =>
      defined<Case>({
        name: `${call} that fails with ${reason} rejects with it`,
        capability,
        run: failing(failure(reason, { status }), async (fixture) => {
          const outcome = await fixture.call(fixture.request())
          const error = errorOf(outcome)
          demand(error?.kind === failed.kind && error.reason === reason, {
            expected: `a rejection with ${failed.name} ${reason}`,
            received: error ?? outcome.failure?.thrown ?? outcome.response,
            contract: failed.contract,
          })
        }),
      }),
    ),
    {
      name: `a failed ${call.replace(/^an? /, '')} says how long to wait`,
      capability: 'retry_after',
      run: failing(
        failure('rate_limited', { status: 429, retryAfterMs: 2000 }),
        async (fixture) => {
          const error = errorOf(await fixture.call(fixture.request()))
          demand(error?.retryAfterMs === 2000, {
            expected: 'a rejection with retryAfterMs 2000',
            received: error,
            contract: 'errorFacts',
          })
        },
      ),
    },
    {
      name: `a failed ${call.replace(/^an? /, '')} names its provider and its run`,
      capability: 'error_origin',
      run: failing(failure('rate_limited', { status: 429, requestId: runId }), async (fixture) => {
        const error = errorOf(await fixture.call(fixture.request()))
        demand(error?.provider === fixture.adapter.provider && error.requestId === runId, {
          expected: `an error with provider ${fixture.adapter.provider} and requestId ${runId}`,
          received: error,
          contract: 'errorFacts',
        })
      }),
    },
    {
      name: `a signal that is aborted already rejects ${call} with cancelled`,
      run: answered(async (fixture) => {
        const { failure: ended } = await fixture.call(fixture.request(), {
          signal: AbortSignal.abort(),
        })
        demandCancelled(ended ?? 'a response')
      }),
    },
    {
      name: `a key that the provider echoes is taken out of the error of ${call}`,
      run: failing(
        {
          ...failure('authentication_failed', { status: 401 }),
          message: `Incorrect API key provided: ${echoedKey}.`,
        },
        async (fixture) => {
          const { response, failure: ended } = await fixture.call(fixture.request(), {
            apiKey: echoedKey,
          })
          demandNoKey(echoedKey, [response, ended?.thrown])
        },
      ),
    },
  ]
  const conduct: readonly Case[] = [
    {
      name: `the model of ${call} is sent`,
      capability: 'requests',
      run: answered(async (fixture) => {
        if (fixture.adapter.needsModel === false) return
        const request = fixture.request()
        await fixture.call(request)
        const { model = '' } = request
        const sent = JSON.stringify(fixture.requests())
        demand(sent.includes(model), {
          expected: `the model ${model} in the request`,
          received: sent,
          contract: 'conversation',
          hint: 'an adapter for one model, which no request has to name, has needsModel: false',
        })
      }),
    },
    {
      name: `the headers of ${call} are sent`,
      capability: 'call_headers',
      run: answered(async (fixture) => {
        const headers = { 'X-Conformance-Trace': 'a header of the call' }
        await fixture.call(fixture.request(), { headers })
        const sent = fixture.sentHeaders().map((one) => one['x-conformance-trace'])
        demand(sameJson(sent, ['a header of the call']), {
          expected: 'x-conformance-trace with the value of the call',
          received: fixture.sentHeaders().map((one) => Object.keys(one)),
          contract: 'callHeaders',
        })
      }),
    },
    {
      name: `the key of ${call} is sent before the key of the adapter`,
      capability: 'keys',
      run: answered(async (fixture) => {
        await fixture.call(fixture.request(), { apiKey: plainKey })
        const keys = fixture.sentKeys()
        demand(keys.length === 1 && keys[0] === plainKey, {
          expected: 'the key of the call',
          received: keys.map((key) => (key === plainKey ? 'the key of the call' : 'another key')),
          contract: 'callKey',
        })
      }),
    },
    {
      name: `a redirect of ${call} is not followed`,
      capability: 'redirects',
      run: (harness) =>
        playModel(harness, play, [script.error(redirected)], async (fixture) => {
          const outcome = await fixture.call(fixture.request(), { apiKey: plainKey })
          const error = errorOf(outcome)
          demand(error?.kind === failed.kind, {
            expected: `a rejection with ${failed.name}`,
            received: error ?? outcome.failure?.thrown ?? outcome.response,
            contract: 'redirects',
          })
          if (harness.capabilities?.includes('requests') !== true) return
          demand(fixture.requests().length === 1, {
            expected: 'one request',
            received: fixture.requests(),
            contract: 'redirects',
            hint: "pass redirect: 'manual' to fetch",
          })
        }),
    },
    {
      name: `a signal stops ${call} that is under way, and closes the connection`,
      capability: 'silence',
      run: unanswered(async (fixture) => {
        const open = (): number => fixture.openConnections()
        const controller = new AbortController()
        const pending = fixture.call(fixture.request(), { signal: controller.signal })
        const wait = { ms: fixture.patienceMs, contract: 'resourceSafe' } as const
        // It may fail before it is sent.
        pending.catch(() => undefined)
        const started = { ...wait, expected: 'an open connection: the call is not answered' }
        await until(open, (count) => count > 0, started)
        controller.abort()
        const { failure: ended } = await pending
        demandCancelled(ended ?? 'a response')
        const closed = { ...wait, expected: 'no open connection after the signal was aborted' }
        await until(open, (count) => count === 0, closed)
      }),
    },
    {
      name: `${call} that is not answered ends after requestTimeoutMs, by options.clock`,
      capability: 'timeouts',
      run: unanswered(async (fixture) => {
        const { patienceMs } = fixture
        const clock = virtualClock({ auto: false })
        const counted = countedClock(clock)
        const before = clock.now()
        const options = { requestTimeoutMs: 5000, clock: counted }
        const pending = fixture.call(fixture.request(), options)
        const outcome = await whileTimePasses({ clock, patienceMs }, pending, 60_000)
        const error = errorOf(outcome)
        const passed = clock.now() - before
        const isTimeout = error?.kind === failed.kind && error.reason === 'timeout'
        demand(isTimeout && passed >= 5000 && passed <= 10_000, {
          expected: `a rejection with ${failed.name} timeout after 5000 ms`,
          received: { passed, error: error ?? outcome.failure?.thrown ?? outcome.response },
          contract: 'timeouts',
        })
        const wait = { ms: patienceMs, contract: 'timeouts' } as const
        const expected = 'no timer left on options.clock'
        await until(
          () => counted.pending,
          (pendingTimers) => pendingTimers === 0,
          { ...wait, expected },
        )
      }),
    },
  ]
  return { responses, failures, conduct }
}

/** A harness whose provider never answers. */
function silent<Adapter, Entry>(
  harness: ModelHarness<Adapter, Entry, string>,
): ModelHarness<Adapter, Entry, string> {
  return { ...harness, start: (script) => harness.start(script, { silent: true }) }
}

const refusals: readonly (readonly [AdapterErrorReason, number, ModelCapability?])[] = [
  ['authentication_failed', 401],
  ['rate_limited', 429],
  ['invalid_request', 400],
  ['provider_unavailable', 503],
  ['content_filter', 400, 'detailed_errors'],
]

/** The error that a call rejected with, as data, if it is one of ours. */
export function errorOf<Response>({ failure }: ModelOutcome<Response>): ErrorData | undefined {
  return isAllmError(failure?.thrown) ? failure.thrown.toJSON() : undefined
}
