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

/** Letters are written as bytes and decoded at once: joining strings would take several times as long. */
function encode(bytes: Uint8Array): string {
  const letters = new TextEncoder().encode(alphabet)
  const letter = (value: number): number => letters[value & 63] ?? 0
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4)
  let at = 0
  for (let index = 0; index < bytes.length; index += 3) {
    const group =
      ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0)
    out[at++] = letter(group >> 18)
    out[at++] = letter(group >> 12)
    out[at++] = letter(group >> 6)
    out[at++] = letter(group)
  }
  if (bytes.length % 3 > 0) out[at - 1] = padding
  if (bytes.length % 3 === 1) out[at - 2] = padding
  return new TextDecoder().decode(out)
}

/** The bytes of a base64 text. Throws what `atob` throws when it is not one; `base64Problem` tells beforehand. */
export function base64ToBytes(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
