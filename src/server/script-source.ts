import type { ImageScriptEntry } from '../testing/image-script.ts'
import type { ImageScript } from '../testing/play-image-entry.ts'
import { createScriptCursor, type ScriptCursor } from '../testing/script-cursor.ts'
import type { Script } from '../testing/script-entry.ts'

/** A script and its place in the list. */
export interface TakenScript {
  readonly script: Script
  readonly index: number
}

/** Where the answers come from. */
export interface ScriptSource {
  /** The script of the next call, and moves on; `undefined` when all were played. */
  take(key: string | undefined): TakenScript | undefined
  /** The image script as it stands for a caller. */
  imagesOf(key: string | undefined): ImageScript
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
  const cursorOf = (list: string, key: string | undefined): ScriptCursor => {
    const name = `${list} ${perKey ? (key ?? '') : ''}`
    const cursor = cursors.get(name) ?? createScriptCursor()
    cursors.set(name, cursor)
    return cursor
  }
  return {
    size: scripts.length,
    take(key) {
      const cursor = cursorOf('chat', key)
      const index = repeat && scripts.length > 0 ? cursor.index % scripts.length : cursor.index
      cursor.advance()
      const script = scripts[index]
      return script === undefined ? undefined : { script, index }
    },
    imagesOf(key) {
      const cursor = cursorOf('images', key)
      return { entries: images, cursor }
    },
    get remaining() {
      const played = [...cursors].flatMap(([name, { index }]) =>
        name.startsWith('chat ') ? [index] : [],
      )
      const least = played.length === 0 ? 0 : Math.min(...played)
      return Math.max(0, scripts.length - least)
    },
  }
}
