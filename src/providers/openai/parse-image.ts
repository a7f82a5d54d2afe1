import { asObject, asText } from './wire-value.ts'
import type { Image } from '../../types/media.ts'

/** An image of an answer, given as a data URI or an address: `{image_url: {url}}` or `{image_url: '…'}`. */
export function parseImage(value: unknown): Image | undefined {
  const given = asObject(value)?.['image_url']
  const url = asText(given) ?? asText(asObject(given)?.['url'])
  if (url === undefined) return undefined
  const inline = /^data:([^;,]+);base64,/.exec(url)
  const [lead = '', mimeType = ''] = inline ?? []
  return inline === null
    ? { type: 'url', url }
    : { type: 'base64', base64: url.slice(lead.length), mimeType }
}
