/** A real recording: a sine of 440 Hz, as a WAV file of 24,000 samples a second. It is written without any help of the library. */
export function sineWav(seconds: number, sampleRate = 24_000): Uint8Array<ArrayBuffer> {
  const count = Math.floor(seconds * sampleRate)
  const bytes = Buffer.alloc(44 + count * 2)
  bytes.write('RIFF', 0)
  bytes.writeUInt32LE(36 + count * 2, 4)
  bytes.write('WAVEfmt ', 8)
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(sampleRate, 24)
  bytes.writeUInt32LE(sampleRate * 2, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36)
  bytes.writeUInt32LE(count * 2, 40)
  for (let index = 0; index < count; index++) {
    const sample = Math.round(Math.sin((index / sampleRate) * 440 * 2 * Math.PI) * 8000)
    bytes.writeInt16LE(sample, 44 + index * 2)
  }
  return new Uint8Array(bytes)
}
