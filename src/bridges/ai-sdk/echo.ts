import { bytesToBase64 } from '../../core/base/base64.ts'
import { defined, isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import { asObject } from '../../providers/shared/read-json.ts'
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

/** The `opaque` of a part or a call, or the item after a text; `undefined` when there is nothing to send back. */
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

/** A value of the AI SDK. It may hold a `URL` or bytes, so it is not JSON. */
export type Value = Readonly<Record<string, unknown>>

type Version = AiSdkModel['specificationVersion']

/** Reads the data of a file that the model made: base64 or bytes, in V4 with a tag. */
export function madeFile(data: unknown): { readonly base64?: string; readonly url?: string } {
  if (isObject(data) && 'type' in data) {
    return data['type'] === 'url' ? { url: String(data['url']) } : madeFile(data['data'])
  }
  return { base64: data instanceof Uint8Array ? bytesToBase64(data) : String(data) }
}

/** The data of a file in a prompt: base64 or an address, in V4 with a tag. */
export function fileData({ base64: data, url }: Value, version: Version): unknown {
  const address = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  if (version !== 'v4') return address ?? data
  return address === undefined ? { type: 'data', data } : { type: 'url', url: address }
}

/** A part of a stream that this library has no type for, as an item to send back. */
export function itemOf(part: Value): JsonObject {
  const { data, ...rest } = part
  const file = data === undefined ? {} : madeFile(data)
  // The gate settles what JSON cannot hold.
  return defined<JsonObject>({ ...(rest as JsonObject), ...file })
}

/** An item as a part of a prompt. One that this version of the AI SDK has no place for is left out. */
export function itemParts(item: JsonObject, version: Version): readonly Value[] {
  const {
    type,
    toolCallId,
    toolName,
    input: given,
    kind,
    mediaType,
    providerMetadata,
  }: Value = item
  const options = isObject(providerMetadata) ? { providerOptions: providerMetadata } : {}
  switch (type) {
    case 'tool-call': {
      const input = parseJson(String(given)) ?? {}
      return [{ type, toolCallId, toolName, input, providerExecuted: true, ...options }]
    }
    case 'tool-result': {
      const output = {
        type: item['isError'] === true ? 'error-json' : 'json',
        value: item['result'],
      }
      return [{ type, toolCallId, toolName, output, ...options }]
    }
    case 'file':
    case 'reasoning-file':
      if (type !== 'file' && version !== 'v4') return []
      return [{ type, mediaType, data: fileData(item, version), ...options }]
    case 'custom':
      return version === 'v4' ? [{ type, kind, ...options }] : []
    default:
      return []
  }
}
