import { EngineError } from '../../core/errors/errors.ts'
import { must, type Check, type Checks } from '../../core/schema/checks.ts'
import type { HttpCall } from '../http/call.ts'
import {
  settleConnection,
  urlOf,
  type Connection,
  type ConnectionDefaults,
  type ConnectionOptions,
} from './call.ts'

/** The options of an adapter whose models run on a platform of another company. */
interface PlacedOptions extends ConnectionOptions {
  readonly platform?: 'vertex' | 'bedrock' | undefined
  readonly region?: string | undefined
  readonly project?: string | undefined
  readonly apiVersion?: string | undefined
  readonly sign?: unknown
}

/**
 * Checks the options of an adapter that may be on a platform and settles them. `publisher` is the maker of the models, in the words
 * of Vertex AI; without a platform, `plain` is what holds. `placed` are the checks of options that only platforms have.
 *
 * A platform has its own name, address and keys: a key that is found by the name of another provider must not be sent there, so
 * such a name is refused. What is missing, or is not of the platform, is refused by name. Google's models also have an express mode
 * without a project.
 */
export function settlePlaced(
  options: PlacedOptions,
  publisher: string,
  plain: ConnectionDefaults,
  placed: Checks = {},
): Connection {
  const { provider: api, checks } = plain
  // Options that are not an object are refused there.
  if (options?.platform === undefined) return settleConnection(options, plain)
  const { platform, region: given, apiVersion = 'v1' } = options
  const isVertex = platform === 'vertex'
  const region = given ?? (isVertex ? 'global' : '')
  const isExpress = publisher === 'google' && given === undefined
  const { project = isExpress ? undefined : '' } = options
  const own = `${api}-${platform}`
  const all = { ...options, region, ...(isVertex && { project }) }
  const connection = settleConnection(all, {
    provider: own,
    baseUrl: isVertex
      ? `https://${vertexHost(region)}.googleapis.com/${apiVersion}`
      : `https://bedrock-runtime.${region}.amazonaws.com`,
    keyHeaders,
    // `credentialed` looks for one when a call is made.
    needsKey: false,
    checks: {
      ...checks,
      ...placed,
      provider: must(
        `${own} or a name of your own`,
        (value) => typeof value === 'string' && (value === own || !taken.test(value)),
      ),
      region: partOf(platform, 'us-east-1'),
      ...(isVertex && { project: partOf(platform, 'my-project') }),
    },
  })
  const place = project === undefined ? '' : `/projects/${project}/locations/${region}`
  const path = isVertex ? `${place}/publishers/${publisher}` : '/model'
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

/**
 * A call to a platform that has its credentials. One that has none is refused, and nothing is sent; at an address of your own, a
 * gateway may add them.
 */
export function credentialed(call: HttpCall, { baseUrl }: PlacedOptions): HttpCall {
  const { provider, headers = {} } = call
  if (baseUrl !== undefined || keyHeaders.some((name) => name in headers)) return call
  const message = `no API key for ${provider}: pass apiKey or headers (Claude: or sign)`
  throw new EngineError('missing_key', message, { provider })
}

/** `global` and the two continents have hosts of their own. */
function vertexHost(region: string): string {
  return /^(us|eu)$/.test(region)
    ? `aiplatform.${region}.rep`
    : `${region}-aiplatform`.replace('global-', '')
}
