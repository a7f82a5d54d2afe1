/**
 * The words of a text as far as a fake understands them: whole, in lower case. The endings -s, -es, -ed and -ing of English are dropped, so that "refund", "refunds" and
 * "refunded" are the same word; a word with a digit is never changed. Each character of Chinese and Japanese is a word.
 */
export function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(word) ?? []
  return words.map((found) => (/^[a-z]+$/.test(found) ? stemOf(found) : found))
}

const word = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|[\p{L}\p{M}\p{N}]+/gu

/** A word without the first of these endings that it has. What would be left of a short word says too little: "string", "used", "this". */
function stemOf(found: string): string {
  for (const [ending, replacement] of endings) {
    if (ending.test(found)) return found.replace(ending, replacement)
  }
  return found
}

const endings: readonly (readonly [RegExp, string])[] = [
  // parties, searches
  [/(?<=...)ies$/, 'y'],
  [/(?<=.(?:ch|sh|ss|x|zz))es$/, ''],
  // parcels, but not "glass", "bus" and "this"
  [/(?<=..[^isu])s$/, ''],
  [/(?<=....)(?:ed|ing)$/, ''],
]
