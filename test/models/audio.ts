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

/** The bits of the second byte of a frame of MPEG audio, by version and layer, with and without a checksum. */
export const mpegFrames: readonly (readonly [name: string, second: number])[] = [
  ['MPEG-1', 0b11],
  ['MPEG-2', 0b10],
  ['MPEG-2.5', 0b00],
].flatMap(([version, versionBits]) =>
  [
    ['layer I', 0b11],
    ['layer II', 0b10],
    ['layer III', 0b01],
  ].flatMap(([layer, layerBits]) =>
    [0, 1].map((plain): readonly [string, number] => [
      `${version} ${layer}${plain === 0 ? ' with a checksum' : ''}`,
      0b1110_0000 | (Number(versionBits) << 3) | (Number(layerBits) << 1) | plain,
    ]),
  ),
)

/** A file of MPEG audio that begins with its first frame, without a tag. */
export function mpegFile(second: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array([0xff, second, 0x50, 0xc4, ...Array.from({ length: 28 }, () => 0)])
}

/**
 * A WAV file with lengths of 64 bits, as EBU Tech 3306 (`RF64`) and ITU-R BS.2088 (`BW64`) have it: the lengths of the file and of its samples
 * are in a chunk `ds64`, and in their usual places there are ones only.
 */
export function wav64(name: 'RF64' | 'BW64', wav: Uint8Array): Uint8Array<ArrayBuffer> {
  const sizes = Buffer.alloc(36)
  sizes.write('ds64', 0)
  sizes.writeUInt32LE(28, 4)
  sizes.writeBigUInt64LE(BigInt(wav.length + 36 - 8), 8)
  sizes.writeBigUInt64LE(BigInt(wav.length - 44), 16)
  sizes.writeBigUInt64LE(BigInt((wav.length - 44) / 2), 24)
  const head = Buffer.from(wav.subarray(0, 12))
  head.write(name, 0)
  head.writeUInt32LE(0xffffffff, 4)
  const rest = Buffer.from(wav.subarray(12))
  rest.writeUInt32LE(0xffffffff, 28)
  return new Uint8Array(Buffer.concat([head, sizes, rest]))
}
