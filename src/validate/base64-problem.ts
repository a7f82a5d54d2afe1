/**
 * What is wrong with a base64 text, as the end of a sentence; `undefined` when nothing is.
 *
 * Padding is required, line breaks and the URL alphabet (`-`, `_`) are refused: providers do not take them.
 */
export function base64Problem(base64: string): string | undefined {
  if (base64 === '') return 'is empty'
  if (base64.startsWith('data:')) return 'is a data URI; use imageFromDataUri'
  const at = base64.search(/[^A-Za-z0-9+/]/)
  const padding = at === -1 ? 0 : base64.length - at
  if (padding > 0 && (padding > 2 || base64.slice(at) !== '='.repeat(padding))) {
    return `is not base64: character ${at + 1} is ${JSON.stringify(base64[at])}`
  }
  if (base64.length % 4 === 0) return undefined
  return `is not base64: its length, ${base64.length}, is not a multiple of 4 (is the padding missing?)`
}
