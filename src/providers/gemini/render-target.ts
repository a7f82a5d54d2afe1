/** How schemas are written: as JSON Schema, or in the older subset of OpenAPI. */
type SchemaDialect = 'json_schema' | 'open_api'

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

/** What a model's name says about what it takes. */
export interface ModelFamily {
  /** 205 for Gemini 2.5, 300 for 3; `Infinity` for a Gemini without a number, which is the newest. */
  readonly version: number
  readonly tier: 'pro' | 'flash' | 'other'
  /** A Gemini, and not another model that is served in the same way. */
  readonly gemini: boolean
}

const named = /^gemini-(?:(\d+)(?:\.(\d+))?(?:-|$))?/

/** Reads a model's name: `gemini-2.5-flash`, `models/gemini-3-pro-preview`, `gemini-flash-latest`. */
export function modelFamily(model: string): ModelFamily {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const match = named.exec(name)
  const [, major, minor = '0'] = match ?? []
  return {
    version: major === undefined ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor),
    tier: name.includes('flash') ? 'flash' : name.includes('pro') ? 'pro' : 'other',
    gemini: match !== null,
  }
}
