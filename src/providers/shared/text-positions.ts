/**
 * Translates places in a text that a provider counts in its own units into places of a JavaScript string. A place beyond the
 * text, or inside a character, becomes the next one that there is. The text is read once.
 */
export function textPositions(
  text: string,
  places: readonly number[],
  unit: 'bytes' | 'code_points',
): ReadonlyMap<number, number> {
  return unit === 'bytes' ? positionsOf(text, places, bytesOf) : positionsOf(text, places)
}

/** `textPositions` for units of which a character has `unitsOf(character)`: one by default. */
export function positionsOf(
  text: string,
  places: readonly number[],
  unitsOf: (character: string) => number = () => 1,
): ReadonlyMap<number, number> {
  const found = new Map<number, number>()
  const wanted = Array.from(new Set(places)).toSorted((left, right) => left - right)
  let next = 0
  let counted = 0
  let at = 0
  for (const character of text) {
    for (; (wanted[next] ?? Infinity) <= counted; next++) found.set(wanted[next] ?? 0, at)
    if (next === wanted.length) return found
    counted += unitsOf(character)
    at += character.length
  }
  for (; next < wanted.length; next++) found.set(wanted[next] ?? 0, at)
  return found
}

/** The length of a character in UTF-8. */
export function bytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x80) return 1
  if (code < 0x8_00) return 2
  return code < 0x1_00_00 ? 3 : 4
}
