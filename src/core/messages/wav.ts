/** How samples are written: 16 bits each, little-endian, the channels in turn. */
export interface SampleFormat {
  readonly sampleRate: number
  readonly channels: number
}

const headerLength = 44

/** The header of a WAV file for so many bytes of samples. They follow it as they are. */
export function wavHeader(dataBytes: number, { sampleRate, channels }: SampleFormat): Uint8Array {
  const header = new Uint8Array(headerLength)
  const view = new DataView(header.buffer)
  const frame = channels * 2
  write(header, 0, 'RIFF')
  view.setUint32(4, headerLength - 8 + dataBytes, true)
  write(header, 8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  // Samples as they are.
  view.setUint16(20, 1, true)
  view.setUint16(22, channels, true)
  view.setUint32(24, sampleRate, true)
  view.setUint32(28, sampleRate * frame, true)
  view.setUint16(32, frame, true)
  view.setUint16(34, 16, true)
  write(header, 36, 'data')
  view.setUint32(40, dataBytes, true)
  return header
}

/** Writes four letters at a time, as the names of chunks are. */
function write(into: Uint8Array, at: number, name: string): void {
  for (let index = 0; index < name.length; index++) into[at + index] = name.charCodeAt(index)
}

/** One part of a WAV file: its name of four letters, and its bytes. */
interface WavChunk {
  readonly name: string
  readonly bytes: Uint8Array
}

/** The names of files of this form: the last two have lengths of 64 bits. */
const fileName = /^(?:RIFF|RF64|BW64)$/

/** What stands in place of a length of 32 bits where a chunk `ds64` has the length. */
const inSizes = 0xffff_ffff

/** The parts of a WAV file; none if it is not one. What goes beyond the end of the bytes is cut there. */
export function wavChunks(bytes: Uint8Array): readonly WavChunk[] {
  if (!fileName.test(nameAt(bytes, 0)) || nameAt(bytes, 8) !== 'WAVE') return []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const chunks: WavChunk[] = []
  let samples = 0
  for (let at = 12; at + 8 <= bytes.byteLength;) {
    const name = nameAt(bytes, at)
    const told = view.getUint32(at + 4, true)
    if (name === 'ds64' && at + sizesEnd <= bytes.byteLength) samples = longSizes(view, at).samples
    const length = told === inSizes && name === 'data' && isKnownLong(samples) ? samples : told
    chunks.push({ name, bytes: bytes.subarray(at + 8, at + 8 + length) })
    // Chunks begin at even places.
    at += 8 + length + (length % 2)
  }
  return chunks
}

/** The head of a chunk `ds64`, and the two lengths in it that are read. */
const sizesEnd = 24

/** The lengths in a chunk `ds64`: of the file behind its head, and of the samples. */
function longSizes(
  view: DataView,
  at: number,
): { readonly file: number; readonly samples: number } {
  const long = (from: number): number => Number(view.getBigUint64(from, true))
  return { file: long(at + 8), samples: long(at + 16) }
}

function nameAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4))
}

/** The format of a WAV file's samples, if it is one of samples of 16 bits. */
export function sampleFormatOf(chunks: readonly WavChunk[]): SampleFormat | undefined {
  const format = chunks.find(({ name }) => name === 'fmt ')?.bytes
  if (format === undefined || format.byteLength < 16) return undefined
  const view = new DataView(format.buffer, format.byteOffset, format.byteLength)
  const channels = view.getUint16(2, true)
  const sampleRate = view.getUint32(4, true)
  const isPlain = view.getUint16(0, true) === 1 && view.getUint16(14, true) === 16
  return isPlain && channels > 0 && sampleRate > 0 ? { sampleRate, channels } : undefined
}

/** A WAV file of samples, with a comment in it. A file without a comment has the shortest header. */
export function wavFile(samples: Int16Array, format: SampleFormat, comment = ''): Uint8Array {
  const dataBytes = samples.length * 2
  const text = new TextEncoder().encode(comment)
  const noted = text.byteLength === 0 ? 0 : 20 + text.byteLength + (text.byteLength % 2)
  const file = new Uint8Array(headerLength + dataBytes + noted)
  const view = new DataView(file.buffer)
  file.set(wavHeader(dataBytes, format))
  for (const [index, sample] of samples.entries()) {
    view.setInt16(headerLength + index * 2, sample, true)
  }
  if (noted === 0) return file
  const at = headerLength + dataBytes
  view.setUint32(4, file.byteLength - 8, true)
  write(file, at, 'LIST')
  view.setUint32(at + 4, noted - 8, true)
  write(file, at + 8, 'INFOICMT')
  view.setUint32(at + 16, text.byteLength, true)
  file.set(text, at + 20)
  return file
}

/** The comment of a WAV file, as `wavFile` writes it. */
export function wavComment(chunks: readonly WavChunk[]): string | undefined {
  const info = chunks.find(({ name, bytes }) => name === 'LIST' && nameAt(bytes, 0) === 'INFO')
  const bytes = info?.bytes ?? new Uint8Array()
  if (bytes.byteLength < 12 || nameAt(bytes, 4) !== 'ICMT') return undefined
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(8, true)
  return new TextDecoder().decode(bytes.subarray(12, 12 + length))
}

/** Watches the bytes of a WAV file as they come, and tells how long the file says that it is. */
export interface WavGauge {
  /** Bytes that have come. */
  take(bytes: Uint8Array): void
  /** The least length of the file by its heads. Before the samples have begun there is more to come. */
  promised(): number
}

/** Whether a length says something: 0 and the largest ones are written by encoders that do not know it yet. */
function isKnown(length: number): boolean {
  return length > 0 && length < 0x7f00_0000
}

/** The same for a length of 64 bits. */
function isKnownLong(length: number): boolean {
  return length > 0 && Number.isSafeInteger(length)
}

/** A gauge for a WAV file. It holds the head of one chunk at a time, wherever the pieces are cut. */
export function wavGauge(): WavGauge {
  const head = new Uint8Array(sizesEnd)
  const view = new DataView(head.buffer)
  let received = 0
  // Where the next head begins, and its length. The first is that of the file.
  let at = 0
  let headLength = 12
  let whole = 0
  let samplesEnd = 0
  let longSamples = 0
  /** Reads a head, and returns where the next one begins. */
  const read = (): number => {
    const length = view.getUint32(4, true)
    if (at === 0) {
      headLength = 8
      // Some writers count the byte that makes a chunk even, and do not write it.
      if (isKnown(length)) whole = 8 + length - 1
      return 12
    }
    const name = nameAt(head, 0)
    if (name === 'ds64' && length >= sizesEnd - 8 && headLength < sizesEnd) {
      headLength = sizesEnd
      return at
    }
    if (headLength === sizesEnd) {
      const { file, samples } = longSizes(view, 0)
      if (whole === 0 && isKnownLong(file)) whole = 8 + file - 1
      longSamples = samples
      headLength = 8
    }
    if (name !== 'data') return at + 8 + length + (length % 2)
    const isLong = length === inSizes && isKnownLong(longSamples)
    samplesEnd = at + 8 + (isLong ? longSamples : isKnown(length) ? length : 0)
    // There is nothing more to find.
    return Infinity
  }
  return {
    take(bytes) {
      const start = received
      const end = (received += bytes.byteLength)
      while (at < end) {
        const headEnd = at + headLength
        const from = Math.max(at, start)
        head.set(bytes.subarray(from - start, headEnd - start), from - at)
        if (end < headEnd) return
        at = read()
      }
    },
    promised: () => Math.max(whole, samplesEnd === 0 ? at + headLength : samplesEnd),
  }
}
