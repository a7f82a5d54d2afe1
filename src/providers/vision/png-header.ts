/** The header of a PNG. */
export interface PngHeader {
  readonly width: number
  readonly height: number
  /** 1, 2, 4, 8 or 16 bits for each channel. */
  readonly bitDepth: number
  /** Whether any pixel can be transparent; `undefined` when the given bytes end too early to know. */
  readonly alpha: boolean | undefined
}

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

/** Reads the header of a PNG from its first bytes. Returns `undefined` for other formats and for a broken PNG. */
export function pngHeader(head: Uint8Array): PngHeader | undefined {
  if (head.byteLength < 33 || signature.some((byte, at) => head[at] !== byte)) return undefined
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  if (view.getUint32(8) !== 13 || chunkName(view, 8) !== 'IHDR') return undefined
  const width = view.getUint32(16)
  const height = view.getUint32(20)
  const bitDepth = view.getUint8(24)
  const colorType = view.getUint8(25)
  if (width === 0 || height === 0 || ![1, 2, 4, 8, 16].includes(bitDepth)) return undefined
  const alpha = colorType === 4 || colorType === 6 ? true : hasTransparency(view)
  return { width, height, bitDepth, alpha }
}

/** Images without an alpha channel may still have transparent colours, in a chunk before the pixels. */
function hasTransparency(view: DataView): boolean | undefined {
  let at = 33
  while (at + 8 <= view.byteLength) {
    const name = chunkName(view, at)
    if (name === 'tRNS') return true
    if (name === 'IDAT' || name === 'IEND') return false
    at += 12 + view.getUint32(at)
  }
  return undefined
}

function chunkName(view: DataView, at: number): string {
  return String.fromCharCode(
    view.getUint8(at + 4),
    view.getUint8(at + 5),
    view.getUint8(at + 6),
    view.getUint8(at + 7),
  )
}
