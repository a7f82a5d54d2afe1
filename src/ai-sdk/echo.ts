import { bytesToBase64 } from '../make/media.ts'
import { asObject } from '../providers/shared/read-json.ts'
import { defined, isObject, parseJson } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Part } from '../types/message.ts'
import type { AiSdkModel } from './model.ts'

// What comes with an answer and goes back with the next call: the `providerMetadata` of its parts, which the AI SDK wants back as
// `providerOptions`, and the parts that this library has no type for. Saved answers outlive a version of the AI SDK, so what is kept
// has one form for all versions.

/** What is kept of a part, and where it stood. */
export interface Kept {
  readonly metadata: JsonObject
  /** The number of calls before the part. */
  readonly callsBefore: number
}

/** The `opaque` of a part or a call; `undefined` when there is nothing to send back. */
export function keep(
  provider: string,
  metadata: unknown,
  callsBefore: number = 0,
): JsonObject | undefined {
  const isMarked = isObject(metadata) && Object.keys(metadata).length > 0
  if (!isMarked && callsBefore === 0) return undefined
  return defined<JsonObject>({
    aiSdk: provider,
    // The gate settles what JSON cannot hold.
    metadata: isMarked ? (metadata as JsonObject) : undefined,
    callsBefore: callsBefore === 0 ? undefined : callsBefore,
  })
}

/** Reads an `opaque`. That of another provider, and any other value, says nothing. */
export function kept(opaque: JsonValue | undefined, provider: string): Kept {
  if (!isObject(opaque) || opaque['aiSdk'] !== provider) return { metadata: {}, callsBefore: 0 }
  const { metadata, callsBefore } = opaque
  return {
    metadata: asObject(metadata) ?? {},
    callsBefore: typeof callsBefore === 'number' ? callsBefore : 0,
  }
}

/** The bytes of a file that the model made, as base64, or its address. */
export interface MadeFile {
  readonly base64?: string
  readonly url?: string
}

/** Reads the data of a file: base64 or bytes, in V4 with a tag. */
export function madeFile(data: unknown): MadeFile {
  if (typeof data === 'string') return { base64: data }
  if (data instanceof Uint8Array) return { base64: bytesToBase64(data) }
  if (!isObject(data)) return {}
  const { type, url } = data
  return type === 'url' ? { url: String(url) } : madeFile(data['data'])
}

/** A part of a stream that this library has no type for, as an item to send back. */
export function itemOf(part: Readonly<Record<string, unknown>>): JsonObject {
  const { data, ...rest } = part
  const file = data === undefined ? {} : madeFile(data)
  // The gate settles what JSON cannot hold.
  return defined<JsonObject>({ ...(rest as JsonObject), ...file })
}

/** The item that keeps what came with the text before it. */
export function textItem(metadata: unknown): JsonObject | undefined {
  const providerMetadata = asObject(metadata)
  return providerMetadata === undefined ? undefined : { type: 'text', providerMetadata }
}

/** What is kept of a text, by the part after it. */
export function textMark(next: Part | undefined, provider: string): Kept {
  const isMark =
    next?.type === 'provider_item' && next.provider === provider && next.item['type'] === 'text'
  return {
    metadata: (isMark && asObject(next.item['providerMetadata'])) || {},
    callsBefore: (isMark && next.callsBefore) || 0,
  }
}

/** An item as a part of a prompt. One that this version of the AI SDK has no place for is left out. */
export function itemParts(
  item: JsonObject,
  version: AiSdkModel['specificationVersion'],
): readonly Readonly<Record<string, unknown>>[] {
  const { type, toolCallId, toolName, kind, providerMetadata } = item
  const options = isObject(providerMetadata) ? { providerOptions: providerMetadata } : {}
  switch (type) {
    case 'tool-call': {
      const { input } = item
      const args = (typeof input === 'string' ? parseJson(input) : input) ?? {}
      const call = { type, toolCallId, toolName, input: args, providerExecuted: true }
      return [{ ...call, ...options }]
    }
    case 'tool-result': {
      const { result = null, isError } = item
      const output = { type: isError === true ? 'error-json' : 'json', value: result }
      return [{ type, toolCallId, toolName, output, ...options }]
    }
    case 'file':
      return [{ ...filePart(item, version), ...options }]
    case 'reasoning-file':
      return version === 'v4' ? [{ ...filePart(item, version), ...options }] : []
    case 'custom':
      return version === 'v4' ? [{ type, kind, ...options }] : []
    default:
      return []
  }
}

function filePart(
  { type, mediaType, base64, url }: JsonObject,
  version: AiSdkModel['specificationVersion'],
): Readonly<Record<string, unknown>> {
  const isRemote = typeof url === 'string'
  const data = isRemote ? new URL(url) : base64
  if (version !== 'v4') return { type, mediaType, data }
  return { type, mediaType, data: isRemote ? { type: 'url', url: data } : { type: 'data', data } }
}
