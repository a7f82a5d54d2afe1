import type { ImageAdapter } from '../contracts/adapter.ts'
import { fakeImages, type ImageScriptEntry } from '../testing/fake-images.ts'
import { createScriptCursor, type Script, type ScriptCursor } from '../testing/script.ts'

/** A script and its place in the list. */
export interface TakenScript {
  readonly script: Script
  readonly index: number
}

/** Where the answers come from. */
export interface ScriptSource {
  /** The script of the next call, and moves on; `undefined` when all were played. */
  take(key: string | undefined): TakenScript | undefined
  /** The fake that plays the image script for a caller. */
  imagesOf(key: string | undefined): ImageAdapter
  /** How many scripts there are for each caller. */
  readonly size: number
  /** How many scripts were not played: by any caller, or by the one that has most left. */
  readonly remaining: number
}

/** What a source is made of. */
export interface SourceOptions {
  readonly scripts: readonly Script[]
  readonly images: readonly ImageScriptEntry[]
  readonly repeat: boolean
  readonly perKey: boolean
}

/** Makes a source: with one place in the scripts for all callers, or with one for each key. */
export function scriptSource({ scripts, images, repeat, perKey }: SourceOptions): ScriptSource {
  const cursors = new Map<string, ScriptCursor>()
  const drawers = new Map<string, ImageAdapter>()
  const nameOf = (key: string | undefined): string => (perKey ? (key ?? '') : '')
  return {
    size: scripts.length,
    take(key) {
      const cursor = made(cursors, nameOf(key), createScriptCursor)
      const index = repeat && scripts.length > 0 ? cursor.index % scripts.length : cursor.index
      cursor.advance()
      const script = scripts[index]
      return script === undefined ? undefined : { script, index }
    },
    imagesOf: (key) => made(drawers, nameOf(key), () => fakeImages({ script: images })),
    get remaining() {
      const played = Array.from(cursors.values(), ({ index }) => index)
      const least = played.length === 0 ? 0 : Math.min(...played)
      return Math.max(0, scripts.length - least)
    },
  }
}

/** The value of a name, made when it is first asked for. */
function made<Value>(values: Map<string, Value>, name: string, make: () => Value): Value {
  const value = values.get(name) ?? make()
  values.set(name, value)
  return value
}
