export { base64Problem } from '../validate/base64-problem.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const padding = 61

/** Newer runtimes do it themselves. */
interface NativeBase64 {
  toBase64?(): string
}

/** Bytes as base64 with padding. Twenty megabytes take about a tenth of a second where the runtime does not help. */
export function bytesToBase64(bytes: Uint8Array): string {
  const native: Uint8Array & NativeBase64 = bytes
  return native.toBase64?.() ?? encode(bytes)
}

/** Twelve bits become two letters at once, as bytes that are decoded together: joining strings takes several times as long. */
function encode(bytes: Uint8Array): string {
  const pairs = letterPairs()
  const out = new Uint16Array(Math.ceil(bytes.length / 3) * 2)
  let at = 0
  for (let index = 0; index < bytes.length; index += 3) {
    const group =
      ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0)
    out[at++] = pairs[group >> 12] ?? 0
    out[at++] = pairs[group & 4095] ?? 0
  }
  const letters = new Uint8Array(out.buffer)
  letters.fill(padding, letters.length - ((3 - (bytes.length % 3)) % 3))
  return new TextDecoder().decode(letters)
}

/** Two letters for each twelve bits, in the byte order of the machine. */
function letterPairs(): Uint16Array {
  const letters = new Uint8Array(8192)
  for (let value = 0; value < 4096; value++) {
    letters[value * 2] = alphabet.charCodeAt(value >> 6)
    letters[value * 2 + 1] = alphabet.charCodeAt(value & 63)
  }
  return new Uint16Array(letters.buffer)
}

/** The bytes of a base64 text. Throws what `atob` throws when it is not one; `base64Problem` tells beforehand. */
export function base64ToBytes(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
