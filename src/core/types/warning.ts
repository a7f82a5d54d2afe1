/**
 * A setting of a request that the provider or the model cannot take: it was left out, or the nearest one was sent.
 *
 * What would change the meaning of a request (a tool, a format, a part of the user) is refused with `unsupported_feature` instead.
 */
export interface Warning {
  /** The setting in the request's own words: `temperature`, `tools.weather.strict`. */
  readonly setting: string
  /** What is wrong with it and what was done, as one sentence for people. */
  readonly problem: string
}

/** Adds a warning to those of a call. */
export type Warn = (setting: string, problem: string) => void
