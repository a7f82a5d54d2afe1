import { defined } from '../data/defined.ts'
import type { Image } from '../data/image.ts'
import type { ImageDetail, ImagePart, TextPart } from '../data/part.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { part } from '../validate/validate-message.ts'
import { assertOptions } from './refusal.ts'

/** A piece of text among the parts of a message. */
export function textPart(text: string): TextPart {
  const made: TextPart = { type: 'text', text }
  assertValid('invalid_message', part(made))
  return made
}

/** An image among the parts of a message. `detail` says how closely the model shall look, where it knows the difference. */
export function imagePart(
  image: Image,
  options: { readonly detail?: ImageDetail | undefined } = {},
): ImagePart {
  assertOptions('invalid_message', options, ['detail'])
  const made = defined<ImagePart>({ type: 'image', image, detail: options.detail })
  assertValid('invalid_message', part(made))
  return made
}
