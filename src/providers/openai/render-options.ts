import {
  refusesTemperature,
  wireEffort,
  type ModelFamily,
  type WireEffort,
} from './model-family.ts'
import { renderSchemas, type RenderedSchemas } from './render-schemas.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest } from '../../types/request.ts'

/** What rendering needs beside the request. */
export interface RenderOptions {
  /** The adapter's name: only reasoning that came from it is echoed. */
  readonly provider: string
  readonly family: ModelFamily
  readonly stream: boolean
  /** The default key of a prompt cache. */
  readonly sessionId: string | undefined
  /** The server is told to keep responses, so that their items can be named by id. */
  readonly stored: boolean
}

/** What both endpoints have, and what the model's family does not take. */
export interface SharedParameters extends RenderedSchemas {
  readonly temperature: number | undefined
  readonly effort: WireEffort | undefined
  readonly cache: JsonObject
}

/** Settles the parameters that depend on the model's family. What is refused is left out, and named in `dropped`. */
export function sharedParameters(
  request: ModelRequest,
  { family, sessionId }: RenderOptions,
): SharedParameters {
  const { reasoning, temperature } = request
  const effort = reasoning === undefined ? undefined : wireEffort(reasoning.effort, family)
  const refused = temperature !== undefined && refusesTemperature(family, effort)
  const silent = reasoning !== undefined && reasoning.effort !== 'none' && effort === undefined
  const schemas = renderSchemas(request)
  return {
    ...schemas,
    temperature: refused ? undefined : temperature,
    effort,
    cache: cacheParameters(request.promptCache, sessionId),
    dropped: [
      ...(refused ? ['temperature'] : []),
      ...(silent ? ['reasoning'] : []),
      ...schemas.dropped,
    ],
  }
}

/** OpenAI caches by itself; the key keeps related calls together, and `long` keeps the cache for a day. */
function cacheParameters(
  cache: ModelRequest['promptCache'],
  sessionId: string | undefined,
): JsonObject {
  if (cache === undefined) return {}
  const { key = sessionId, retention } = cache === true ? {} : cache
  return {
    ...(key === undefined ? {} : { prompt_cache_key: key }),
    ...(retention === 'long' ? { prompt_cache_retention: '24h' } : {}),
  }
}
