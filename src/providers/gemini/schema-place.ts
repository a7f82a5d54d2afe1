import { AdapterError } from '../../errors/errors.ts'

/** Where in a request a schema stands, for the words of an error. */
export interface SchemaPlace {
  readonly provider: string
  /** As one would write it in code: `tools[0].schema.properties.name`. */
  readonly path: string
}

/** The place of a member. */
export function inside(place: SchemaPlace, ...keys: readonly (string | number)[]): SchemaPlace {
  let { path } = place
  for (const key of keys) {
    path +=
      typeof key === 'string' && /^[A-Za-z_$][\w$]*$/.test(key)
        ? `.${key}`
        : `[${JSON.stringify(key)}]`
  }
  return { ...place, path }
}

/** The error of a schema that Gemini has no words for. Nothing was sent. */
export function inexpressible({ provider, path }: SchemaPlace, problem: string): AdapterError {
  const message = `${provider} can not be told this schema: ${path} ${problem}`
  return new AdapterError('unsupported_feature', message, { provider, metadata: { path } })
}
