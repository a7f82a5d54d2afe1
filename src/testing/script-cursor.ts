/** Tells a cursor from any other object. */
const cursorBrand: unique symbol = Symbol.for('allm-ts.script-cursor')

/** A place in a list of scripts. Fakes that are given the same cursor take turns in one list. */
export interface ScriptCursor {
  readonly [cursorBrand]: true
  /** How many scripts were taken: the place of the next one. */
  readonly index: number
  /** Moves on to the next place. */
  advance(): void
  /** Counts a call that stays at this place; gives how many there were, this one included. */
  stay(): number
}

/** Makes a cursor at the start of a list. Give it to fakes as `scriptCursor` to share it, or to look at its `index`. */
export function createScriptCursor(): ScriptCursor {
  let index = 0
  let stayed = 0
  return {
    [cursorBrand]: true,
    get index() {
      return index
    },
    advance() {
      index++
      stayed = 0
    },
    stay() {
      return ++stayed
    },
  }
}

/** Whether a value is a cursor. */
export function isScriptCursor(value: unknown): value is ScriptCursor {
  return typeof value === 'object' && value !== null && cursorBrand in value
}
