import { modelFamily, type ModelFamily } from './model-family.ts'

/** How schemas are written: as JSON Schema, or in the older subset of OpenAPI. */
export type SchemaDialect = 'json_schema' | 'open_api'

/** Whom a request is rendered for. */
export interface RenderTarget {
  /** The name that reasoning of ours carries; that of any other provider is not sent. */
  readonly provider: string
  readonly family: ModelFamily
  readonly schemas: SchemaDialect
}

/** What the target of a request is told. */
export interface TargetOptions {
  readonly provider?: string | undefined
  /** The path of the API, such as `…/v1beta`; JSON Schema came with the beta. */
  readonly baseUrl?: string | undefined
}

/** The target of a request for a model. Models before 2.5 and version 1 of the API do not read JSON Schema. */
export function renderTarget(model: string, options: TargetOptions = {}): RenderTarget {
  const { provider = 'gemini', baseUrl = '' } = options
  const family = modelFamily(model)
  const old = family.version < 205 || baseUrl.endsWith('/v1')
  return { provider, family, schemas: old ? 'open_api' : 'json_schema' }
}
