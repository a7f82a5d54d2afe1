import { fine, must, someText, type Check, type Checks } from '../../schema/checks.ts'
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
 * of Vertex AI; without a platform, `plain` is what holds.
 *
 * A platform has its own name, address and keys: a key that is found by the name of the API must not be sent there, so that name is
 * refused. What is missing, or is not of the platform, is refused by name. Google's models also have an express mode without a
 * project.
 */
export function settlePlaced(
  options: PlacedOptions,
  publisher: string,
  plain: ConnectionDefaults,
  placed: Checks = {},
): Connection {
  // Options that are no object are refused there.
  if (options?.platform === undefined) return settleConnection(options, plain)
  const { provider: api, checks } = plain
  const { platform, region: given, apiVersion = 'v1' } = options
  const isVertex = platform === 'vertex'
  const region = given ?? (isVertex ? 'global' : '')
  const isExpress = publisher === 'google' && given === undefined
  const { project = isExpress ? undefined : '' } = options
  const all = { ...options, region, ...(isVertex && { project }) }
  const own = `${api}-${platform}`
  const connection = settleConnection(all, {
    provider: own,
    baseUrl: isVertex
      ? `https://${vertexHost(region)}.googleapis.com/${apiVersion}`
      : `https://bedrock-runtime.${region}.amazonaws.com`,
    keyHeaders: ['x-goog-api-key', 'authorization'],
    needsKey: options.sign === undefined,
    checks: {
      ...checks,
      ...placed,
      // The key of another provider would be found by its name, and sent to the platform.
      provider: must(
        `${own} or a name of your own that is no other provider's`,
        (value) => value === own || (someText(value) === fine && !known.test(`${value}`)),
      ),
      region: name,
      ...(isVertex && { project: name }),
    },
  })
  const place = project === undefined ? '' : `/projects/${project}/locations/${region}`
  const path = isVertex ? `${place}/publishers/${publisher}` : '/model'
  return { ...connection, baseUrl: urlOf(connection, path) }
}

/** The names under which the keys of other providers are found, however they are written. */
const known =
  /^(?:(?:azure.)?openai|azure|google|(?:anthropic|gemini)(?:.vertex|.bedrock)?|cohere|openrouter|groq|deepseek|xai|mistral|together|fireworks|cerebras)$/i

/** A part of an address. */
const name: Check = must(
  'a name of letters, digits, dots and hyphens',
  (value) => typeof value === 'string' && /^\w[\w.-]*$/.test(value),
)

/** `global` and the two continents have hosts of their own. */
function vertexHost(region: string): string {
  return /^(us|eu)$/.test(region)
    ? `aiplatform.${region}.rep`
    : `${region}-aiplatform`.replace('global-', '')
}
