import { crc32, deflateSync } from 'node:zlib'

/** What a PNG of a test is like. */
export interface PngOptions {
  readonly width: number
  readonly height: number
  readonly bitDepth?: 8 | 16
  /** 0 grey, 2 colour, 3 palette, 4 grey with alpha, 6 colour with alpha. */
  readonly colorType?: 0 | 2 | 3 | 4 | 6
  /** Names a transparent colour in a chunk of its own. */
  readonly transparentColor?: boolean
  /** Bytes of text that stand before the pixels. */
  readonly comment?: number
}

const channels = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

/** A whole, legal PNG with a gradient in it. */
export function makePng(options: PngOptions): Uint8Array {
  const { width, height, bitDepth = 8, colorType = 2 } = options
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([bitDepth, colorType, 0, 0, 0], 8)
  const rowLength = 1 + width * channels[colorType] * (bitDepth / 8)
  const rows = Buffer.alloc(rowLength * height, 1)
  for (let row = 0; row < height; row++) rows[row * rowLength] = 0
  const chunks = [chunk('IHDR', header)]
  if (options.comment !== undefined) {
    chunks.push(chunk('tEXt', Buffer.alloc(options.comment, 'x')))
  }
  if (colorType === 3) chunks.push(chunk('PLTE', Buffer.from([0, 0, 0, 255, 255, 255])))
  if (options.transparentColor === true)
    chunks.push(chunk('tRNS', Buffer.alloc(colorType === 2 ? 6 : 2)))
  chunks.push(chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0)))
  return new Uint8Array(Buffer.concat([signature, ...chunks]))
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.byteLength)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}
