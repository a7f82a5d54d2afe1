import { EngineError } from '../../core/errors/errors.ts'
import { must, type Check, type Checks } from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import type { HttpCall } from '../http/call.ts'
import { settleConnection, urlOf, type Connection, type ConnectionOptions } from './call.ts'

/** The options of an adapter whose models run on Vertex AI. */
interface VertexOptions extends ConnectionOptions {
  readonly region?: string | undefined
  readonly project?: string | undefined
  readonly apiVersion?: string | undefined
}

/** The models of one maker on Vertex AI. */
interface VertexModels {
  /** The API that the models have at their maker: `anthropic`. */
  readonly api: string
  /** The maker, in the words of Vertex AI. */
  readonly publisher: 'anthropic' | 'google'
  /** The checks of the options that are not those of every adapter on Vertex AI. */
  readonly checks: Checks
}

/**
 * Checks the options of an adapter on Vertex AI and settles them. The project and the region are in the path. Google's models also have an
 * express mode without a project.
 */
export function settleVertex(
  options: VertexOptions,
  { api, publisher, checks }: VertexModels,
): Connection {
  const { region = 'global', project = '', apiVersion = 'v1' } = options ?? {}
  const isExpress =
    publisher === 'google' && options?.region === undefined && options?.project === undefined
  const place = isExpress ? '' : `/projects/${project}/locations/${region}`
  return settlePlatform(options, isExpress ? {} : { region, project }, {
    provider: `${api}-vertex`,
    baseUrl: `https://${vertexHost(region)}.googleapis.com/${apiVersion}`,
    path: `${place}/publishers/${publisher}`,
    checks: {
      ...checks,
      region: partOf('vertex', 'us-east-1'),
      project: partOf('vertex', 'my-project'),
    },
  })
}

/** Checks the options of an adapter on Amazon Bedrock and settles them. There is no default region. */
export function settleBedrock(
  options: ConnectionOptions & { readonly region?: string | undefined },
  { api, checks }: Pick<VertexModels, 'api' | 'checks'>,
): Connection {
  const { region = '' } = options ?? {}
  return settlePlatform(
    options,
    { region },
    {
      provider: `${api}-bedrock`,
      baseUrl: `https://bedrock-runtime.${region}.amazonaws.com`,
      path: '/model',
      checks: { ...checks, region: partOf('bedrock', 'us-east-1') },
    },
  )
}

/**
 * Settles the options of an adapter on a platform, with those that it must have.
 *
 * A platform has its own name, address and keys: a key that is found by the name of another provider must not be sent there, so
 * such a name is refused. What is missing, or is not of the platform, is refused by name.
 */
function settlePlatform(
  options: ConnectionOptions,
  required: Readonly<Record<string, string>>,
  platform: {
    readonly provider: string
    readonly baseUrl: string
    /** What is in every path, below the address. */
    readonly path: string
    readonly checks: Checks
  },
): Connection {
  const { provider, baseUrl, path, checks } = platform
  // Options that are not an object are refused as they are.
  const all = isObject(options) ? { ...options, ...required } : options
  const connection = settleConnection(all, {
    provider,
    baseUrl,
    keyHeaders,
    // `credentialed` looks for one when a call is made.
    needsKey: false,
    checks: {
      ...checks,
      provider: must(
        `${provider} or a name of your own`,
        (value) => typeof value === 'string' && (value === provider || !taken.test(value)),
      ),
    },
  })
  return { ...connection, baseUrl: urlOf(connection, path) }
}

/** The headers that carry credentials. */
const keyHeaders: readonly string[] = ['x-goog-api-key', 'authorization']

/** The names under which the keys of other providers are found, however they are written, and none at all. */
const taken = /^(google|azure|(azure.)?openai|(anthropic|gemini)(.vertex|.bedrock)?)?$/i

/** A part of an address. */
function partOf(platform: string, example: string): Check {
  return must(
    `given for ${platform}, such as ${example}`,
    (value) => typeof value === 'string' && /^\w[\w.-]*$/.test(value),
  )
}

/** `global` and the two continents have hosts of their own. */
function vertexHost(region: string): string {
  return /^(us|eu)$/.test(region)
    ? `aiplatform.${region}.rep`
    : `${region}-aiplatform`.replace('global-', '')
}

/**
 * A call to a platform that has its credentials. One that has none is refused, and nothing is sent; at an address of your own, a
 * gateway may add them.
 */
export function credentialed(call: HttpCall, { baseUrl }: ConnectionOptions): HttpCall {
  const { provider, headers = {} } = call
  if (baseUrl !== undefined || keyHeaders.some((name) => name in headers)) return call
  const message = `no API key for ${provider}: pass apiKey or headers (Claude: or sign)`
  throw new EngineError('missing_key', message, { provider })
}
