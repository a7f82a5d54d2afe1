import type { AdapterOptions } from '../../../../src/core/contracts/adapter.ts'
import {
  AdapterError,
  isAllmError,
  StreamError,
  type ImageAdapterError,
} from '../../../../src/index.ts'
import type { Mutant } from './mutant.ts'

/** A defect in how an adapter makes its calls. All kinds of models may have it. */
interface ConductDefect {
  readonly defect: string
  readonly caught: string
  /** What is asked instead. */
  readonly request?: { readonly model: string }
  readonly options?: (options: AdapterOptions) => AdapterOptions
  /** A call that was redirected is made again. */
  readonly follows?: boolean
}

/** The defects of how calls are made, by the word for them. */
export function conductDefects(call: string): readonly ConductDefect[] {
  return [
    {
      defect: 'another model is sent',
      caught: `the model of ${call} is sent`,
      request: { model: 'something' },
    },
    {
      defect: 'the headers of a call are dropped',
      caught: `the headers of ${call} are sent`,
      options: ({ headers: _headers, ...options }) => options,
    },
    {
      defect: 'the key of a call is dropped',
      caught: `the key of ${call} is sent before the key of the adapter`,
      options: ({ apiKey: _key, ...options }) => options,
    },
    {
      defect: 'a redirect is followed',
      caught: `a redirect of ${call} is not followed`,
      follows: true,
    },
    {
      defect: 'a signal is looked at once',
      caught: `a signal stops ${call} that is under way, and closes the connection`,
      options: ({ signal: _signal, ...options }) => options,
    },
    {
      defect: 'requestTimeoutMs is dropped',
      caught: `${call} that is not answered ends after requestTimeoutMs, by options.clock`,
      options: ({ requestTimeoutMs: _ms, ...options }) => options,
    },
    {
      defect: 'time is that of the machine',
      caught: `${call} that is not answered ends after requestTimeoutMs, by options.clock`,
      options: ({ clock: _clock, ...options }) => options,
    },
    {
      defect: 'a timer is left behind',
      caught: `${call} that is not answered ends after requestTimeoutMs, by options.clock`,
      options(options) {
        options.clock?.sleep(600_000).catch(() => undefined)
        return options
      },
    },
  ]
}

/** A mutant whose case does not wait long for what never comes. */
export function impatient<Harness extends object>(mutant: Mutant<Harness>): Mutant<Harness> {
  return { ...mutant, harness: { ...mutant.harness, patienceMs: 300 } }
}

/** The call that is made instead. */
export function asked<Request>(
  { request: fields, options: rewrite = (same) => same }: ConductDefect,
  request: Request,
  options: AdapterOptions = {},
): readonly [Request, AdapterOptions] {
  return [{ ...request, ...fields }, rewrite(options)]
}

/** Whether a call is made again after this failure. */
export function isFollowed({ follows }: ConductDefect, error: unknown): boolean {
  return follows === true && isAllmError(error) && error.toJSON().status === 307
}

/** How an adapter is asked. */
export type Send<Request, Response> = (
  request: Request,
  options?: AdapterOptions,
) => Promise<Response>

/** What a mutant makes of it. */
export type Change<Request, Response> = (send: Send<Request, Response>) => Send<Request, Response>

/** The calls of an adapter that has the defect. */
export function sending<Request, Response>(
  defect: ConductDefect,
  send: Send<Request, Response>,
): Send<Request, Response> {
  return async (...given) => {
    const call = asked(defect, ...given)
    try {
      return await send(...call)
    } catch (error) {
      if (isFollowed(defect, error)) return send(...call)
      throw error
    }
  }
}

/** A defect, the case that has to notice it, and what is changed; some are those of adapters that send something. */
type SharedDefect<Request, Response> = readonly [
  defect: string,
  caught: string,
  change: Change<Request, Response>,
  onTheWire?: boolean,
]

/** The defects of responses and failures that every adapter may have that answers with a promise, by the word for its calls. */
export function sharedDefects<
  Request extends { readonly metadata: object },
  Response extends { readonly requestId: string; readonly metadata: object },
>(
  call: string,
  Failure: typeof AdapterError | typeof ImageAdapterError = AdapterError,
): readonly SharedDefect<Request, Response>[] {
  type Defect = SharedDefect<Request, Response>
  const failing =
    (change: (error: AdapterError | ImageAdapterError) => Error): Change<Request, Response> =>
    (send) =>
    (...given) =>
      send(...given).catch((error: unknown) => {
        throw error instanceof Failure ? change(error) : error
      })
  const giving =
    (change: (response: Response) => object): Change<Request, Response> =>
    (send) =>
    async (...given) =>
      change(await send(...given)) as Response
  /** The same failure, with nothing but these facts. */
  const again = (
    { reason, message, metadata }: AdapterError | ImageAdapterError,
    facts: { readonly status?: number | undefined },
  ): Error =>
    // The reasons of both are the same, but for one that neither needs here.
    new Failure(reason as 'unknown', message, { metadata, ...facts })
  const name = call.replace(/^an? /, '')
  const defects: readonly Defect[] = [
    [
      'the id of the run is lost',
      'a response has the id of its run and the name of its provider',
      giving((response) => ({ ...response, requestId: 'another' })),
    ],
    [
      'metadata is lost',
      'the metadata of a request is on its response',
      giving((response) => ({ ...response, metadata: {} })),
    ],
    [
      'a response holds a date',
      'a response is plain JSON',
      giving((response) => ({ at: new Date(0), ...response })),
    ],
    [
      'the request is written to',
      `${call} does not change the request`,
      (send) => (request, options) => {
        Object.assign(request.metadata, { seen: true })
        return send(request, options)
      },
    ],
    [
      'the key is in the metadata of a response',
      'the key is in no response',
      (send) => async (request, options) => {
        const response = await send(request, options)
        return { ...response, metadata: { ...response.metadata, key: options?.apiKey } }
      },
    ],
    [
      'the key of a call is kept on the adapter',
      'the key is on no property of the adapter',
      (send) => {
        const keeping: Send<Request, Response> = (request, options) => {
          Object.assign(keeping, { last: { key: options?.apiKey } })
          return send(request, options)
        }
        return keeping
      },
    ],
    ...(
      [
        'authentication_failed',
        'rate_limited',
        'invalid_request',
        'provider_unavailable',
        'content_filter',
      ] as const
    ).map((reason): Defect => [
      `${reason} is an error of streams`,
      `${call} that fails with ${reason} rejects with it`,
      failing((error) =>
        error.reason === reason ? new StreamError('unknown', error.message) : error,
      ),
    ]),
    [
      'Retry-After is lost',
      `a failed ${name} says how long to wait`,
      failing((error) => again(error, {})),
    ],
    [
      'a failure does not say where it happened',
      `a failed ${name} names its provider and its run`,
      failing((error) => again(error, { status: error.status })),
      true,
    ],
    [
      'a signal is not looked at',
      `a signal that is aborted already rejects ${call} with cancelled`,
      (send) =>
        (request, { signal: _signal, ...options } = {}) =>
          send(request, options),
    ],
    [
      'what the provider says is told as it is',
      `a key that the provider echoes is taken out of the error of ${call}`,
      failing((error) =>
        Object.defineProperty(error, 'message', {
          value: 'sk-conformance0123456789abcdef is wrong',
        }),
      ),
    ],
  ]
  return defects
}
