/**
 * The SHA-256 of a text in UTF-8, as 64 hexadecimal digits.
 *
 * The platform has one, too, but only an asynchronous one: a virtual clock cannot see that work, and would let time pass meanwhile.
 */
export function sha256(text: string): string {
  const message = padded(new TextEncoder().encode(text))
  const state = Uint32Array.from(initial)
  const schedule = new Uint32Array(64)
  for (let block = 0; block < message.byteLength; block += 64) {
    for (let at = 0; at < 16; at++) schedule[at] = message.getUint32(block + at * 4)
    mix(state, schedule)
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The message in whole blocks: its bytes, a one, zeros, and the number of its bits. */
function padded(text: Uint8Array): DataView {
  const bytes = new Uint8Array((((text.length + 8) >> 6) + 1) * 64)
  bytes.set(text)
  bytes[text.length] = 0x80
  const message = new DataView(bytes.buffer)
  message.setUint32(bytes.length - 8, Math.floor(text.length / 2 ** 29))
  message.setUint32(bytes.length - 4, text.length * 8)
  return message
}

/** One block, which is in the first 16 words of the schedule. */
function mix(state: Uint32Array, schedule: Uint32Array): void {
  for (let at = 16; at < 64; at++) {
    const early = of(schedule, at - 15)
    const late = of(schedule, at - 2)
    schedule[at] =
      of(schedule, at - 16) +
      (turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) +
      of(schedule, at - 7) +
      (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10))
  }
  // Not destructured: that would run an iterator for every block.
  let a = of(state, 0)
  let b = of(state, 1)
  let c = of(state, 2)
  let d = of(state, 3)
  let e = of(state, 4)
  let f = of(state, 5)
  let g = of(state, 6)
  let h = of(state, 7)
  for (let at = 0; at < 64; at++) {
    const chosen = (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g))
    const most = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    const next = (h + chosen + of(constants, at) + of(schedule, at)) | 0
    h = g
    g = f
    f = e
    e = (d + next) | 0
    d = c
    c = b
    b = a
    a = (next + most) | 0
  }
  const words = [a, b, c, d, e, f, g, h]
  for (let at = 0; at < 8; at++) state[at] = of(state, at) + (words[at] ?? 0)
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
