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
