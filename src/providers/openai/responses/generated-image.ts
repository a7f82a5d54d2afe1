import { asText } from '../wire-value.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonObject } from '../../../types/json.ts'
import type { InlineImage } from '../../../types/media.ts'

/** The image that an `image_generation_call` item holds. The item's id stays with it, so that it can be sent back. */
export function generatedImage(wire: JsonObject): InlineImage | undefined {
  const base64 = asText(wire['result'])
  if (wire['type'] !== 'image_generation_call' || base64 === undefined) return undefined
  const id = asText(wire['id'])
  return defined<InlineImage>({
    type: 'base64',
    base64,
    mimeType: `image/${asText(wire['output_format']) ?? 'png'}`,
    revisedPrompt: asText(wire['revised_prompt']),
    metadata: id === undefined ? undefined : { id },
  })
}
