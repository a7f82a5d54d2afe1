import type { JsonObject } from '../../types/json.ts'
import { base64Slices, imageBase64, type LoadedImage } from '../../vision/load-images.ts'

/** From so many characters or bytes on a body is made a slice at a time. */
const largeBody = 4 * 1024 * 1024

/**
 * A body of JSON with images in it. `render` is given the base64 of each image.
 *
 * A small body is text. A large one is a blob that is filled a slice at a time, because as text it would be in memory three
 * times before it is sent.
 */
export function jsonWithImages(
  images: readonly LoadedImage[],
  render: (base64: readonly string[]) => JsonObject,
): string | Blob {
  const size = images.reduce((sum, image) => sum + sizeOf(image), 0)
  if (size < largeBody) return JSON.stringify(render(images.map(imageBase64)))
  // Base64 needs no escapes, so it can take the place of a mark that occurs nowhere else.
  const marks = images.map(() => crypto.randomUUID())
  let text = JSON.stringify(render(marks))
  const pieces: Blob[] = []
  for (const [index, mark] of marks.entries()) {
    const [before = '', after] = text.split(mark, 2)
    const image = images[index]
    if (after === undefined || image === undefined) continue
    pieces.push(new Blob([before]))
    for (const slice of base64Slices(image)) pieces.push(new Blob([slice]))
    text = after
  }
  return new Blob([...pieces, text])
}

function sizeOf({ content }: LoadedImage): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, { byteLength }) => sum + byteLength, 0)
}
