/**
 * The words of a text as far as a fake understands them: in lower case, and cut after five letters, so that "refund" and "refunded" are the
 * same word. Each character of Chinese and Japanese is a word.
 */
export function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(word) ?? []
  return words.map((found) => Array.from(found).slice(0, 5).join(''))
}

const word = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|[\p{L}\p{M}\p{N}]+/gu
