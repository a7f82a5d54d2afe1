import type { AdapterOptions } from '../../../src/contracts/adapter.ts'
import { isAllmError } from '../../../src/index.ts'
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

type Send<Request, Response> = (request: Request, options?: AdapterOptions) => Promise<Response>

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
