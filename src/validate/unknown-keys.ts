import type { Issue } from '../data/error-data.ts'

/**
 * One problem for each key of `value` that is not legal, with the nearest legal key where one is near.
 *
 * `path` is the place of `value` itself. What is not an object has no keys and no problems here.
 */
export function unknownKeys(
  value: unknown,
  legalKeys: readonly string[],
  path: string = '',
): readonly Issue[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value)
    .filter((key) => !legalKeys.includes(key))
    .map((key) => unknownKey(key, legalKeys, path))
}

/** The problem of one key that is not legal. */
export function unknownKey(key: string, legalKeys: readonly string[], path: string = ''): Issue {
  const near = nearest(key, legalKeys)
  const advice = near === undefined ? `legal are ${legalKeys.join(', ')}` : `did you mean ${near}?`
  return { path, problem: `unknown key ${key}; ${advice}` }
}

/** The word that was probably meant; `undefined` when none is near. Case, `_` and `-` do not count. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const wanted = bare(word)
  const limit = Math.floor(Math.min(wanted.length / 2, Math.max(2, wanted.length / 3)))
  let best: string | undefined
  let least = limit + 1
  for (const candidate of words) {
    const distance = editDistance(wanted, bare(candidate))
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

function bare(word: string): string {
  return word.toLowerCase().replaceAll(/[_-]/g, '').slice(0, 64)
}

/** How many letters have to be changed, added or taken away (Levenshtein), one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
