/**
 * The SHA-256 of a text in UTF-8, as 64 hexadecimal digits.
 *
 * The platform has one, too, but only an asynchronous one: a virtual clock cannot see that work, and would let time pass meanwhile.
 */
export function sha256(text: string): string {
  const words = padded(new TextEncoder().encode(text))
  const state = Uint32Array.from(initial)
  const schedule = new Uint32Array(64)
  for (let block = 0; block < words.length; block += 16) {
    mix(state, schedule, words.subarray(block, block + 16))
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The message as words of 32 bits: its bytes, a one, zeros, and the number of its bits in the last two words. */
function padded(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array((((bytes.length + 8) >> 6) + 1) * 16)
  bytes.forEach((byte, at) => put(words, at, byte))
  put(words, bytes.length, 0x80)
  const bits = bytes.length * 8
  words[words.length - 2] = Math.floor(bits / 2 ** 32)
  words[words.length - 1] = bits
  return words
}

function put(words: Uint32Array, at: number, byte: number): void {
  words[at >> 2] = of(words, at >> 2) | (byte << (24 - (at & 3) * 8))
}

/** One block of 16 words. */
function mix(state: Uint32Array, schedule: Uint32Array, block: Uint32Array): void {
  schedule.set(block)
  for (let at = 16; at < 64; at++) {
    const early = of(schedule, at - 15)
    const late = of(schedule, at - 2)
    schedule[at] =
      of(schedule, at - 16) +
      (turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) +
      of(schedule, at - 7) +
      (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10))
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let at = 0; at < 64; at++) {
    const first =
      (h +
        (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
        ((e & f) ^ (~e & g)) +
        of(constants, at) +
        of(schedule, at)) |
      0
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  ;[a, b, c, d, e, f, g, h].forEach((word, at) => {
    state[at] = of(state, at) + word
  })
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

function of(words: Uint32Array, at: number): number {
  return words[at] ?? 0
}

/** The first 64 primes: the constants are the first bits of the fractions of their roots. */
const primes: readonly number[] = /* @__PURE__ */ firstPrimes(64)

const constants: Uint32Array = /* @__PURE__ */ Uint32Array.from(primes, (prime) =>
  fraction(Math.cbrt(prime)),
)

const initial: readonly number[] = /* @__PURE__ */ primes
  .slice(0, 8)
  .map((prime) => fraction(Math.sqrt(prime)))

function firstPrimes(count: number): readonly number[] {
  const found: number[] = []
  for (let candidate = 2; found.length < count; candidate++) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  }
  return found
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32)
}
