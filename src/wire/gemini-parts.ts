import { assertNever } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { asString, isJsonObject, parseJsonObject } from './json-object.ts'
import type { PlanBlock } from './plan.ts'

/** The part of a block with all of its content; `undefined` when the part before it carries all there is. */
export function wholePart(blocks: readonly PlanBlock[], index: number): JsonObject | undefined {
  const block = blocks[index]
  if (block === undefined) return undefined
  switch (block.type) {
    case 'text':
      return { text: block.text, ...signatureFromNext(blocks, index) }
    case 'reasoning':
      return thoughtPart(block.text, block.opaque)
    case 'tool_call':
      return {
        functionCall: { name: block.name, args: parseJsonObject(block.text), id: block.id },
        ...callSignature(block.opaque),
      }
    case 'image':
      return { ...imagePart(block), ...signatureFromNext(blocks, index) }
    default:
      return assertNever(block)
  }
}

/**
 * A signature also comes on text and on images: reasoning without text whose opaque data is
 * `{thoughtSignature, on: 'previous'}` puts it there.
 */
export function signatureFromNext(blocks: readonly PlanBlock[], index: number): JsonObject {
  const next = blocks[index + 1]
  const signature =
    next?.type === 'reasoning' ? previousSignature(next.text, next.opaque) : undefined
  return signature === undefined ? {} : { thoughtSignature: signature }
}

function previousSignature(text: string, opaque: JsonValue | undefined): string | undefined {
  if (text !== '' || !isJsonObject(opaque) || opaque['on'] !== 'previous') return undefined
  const { thoughtSignature } = opaque
  return typeof thoughtSignature === 'string' ? thoughtSignature : undefined
}

/** A thought; a whole part where the opaque data is `{part}`; nothing where the part before has the signature. */
function thoughtPart(text: string, opaque: JsonValue | undefined): JsonObject | undefined {
  if (previousSignature(text, opaque) !== undefined) return undefined
  if (text === '' && isJsonObject(opaque) && isJsonObject(opaque['part'])) return opaque['part']
  const signature = opaque === undefined ? {} : { thoughtSignature: asString(opaque) }
  return { text, thought: true, ...signature }
}

/** The opaque data of a call is `{thoughtSignature}`, or the signature itself. */
function callSignature(opaque: JsonValue | undefined): JsonObject {
  if (opaque === undefined) return {}
  const signature = isJsonObject(opaque) ? opaque['thoughtSignature'] : opaque
  return { thoughtSignature: asString(signature ?? opaque) }
}

function imagePart({ image }: PlanBlock & { type: 'image' }): JsonObject {
  if (image.type === 'base64')
    return { inlineData: { mimeType: image.mimeType, data: image.base64 } }
  const { mimeType = 'image/png' } = image
  return { fileData: { mimeType, fileUri: image.type === 'url' ? image.url : image.path } }
}
