import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import { asString, type FrameWriter, type WireFrame } from './wire-format.ts'

/** The content type of the binary framing of AWS. */
export const eventStreamType = 'application/vnd.amazon.eventstream'

/**
 * Writes a stream of Bedrock: each event of Claude is the base64 text of one message. An error is an exception, or an unmodeled error
 * where Bedrock has no exception for it.
 */
export function eventStreamWriter(): FrameWriter {
  const frames: WireFrame[] = []
  let pending = 0
  const write = (bytes: Uint8Array): void => {
    frames.push(pending > 0 ? { bytes, delayMs: pending } : { bytes })
    pending = 0
  }
  return {
    frames,
    text: (text) => write(text === '' ? new Uint8Array(0) : chunkMessage(text)),
    event(data, name) {
      write(name === 'error' ? errorMessage(data) : chunkMessage(JSON.stringify(data)))
    },
    wait(ms) {
      pending += ms
    },
    end() {},
  }
}

function chunkMessage(text: string): Uint8Array {
  const bytes = Buffer.from(text).toString('base64')
  // Bedrock hides the length of the text behind padding of changing length.
  const p = 'abcdefghijklmnopqrstuvwxyz'.slice(0, 1 + (text.length % 26))
  return jsonMessage({ ':event-type': 'chunk', ':message-type': 'event' }, { bytes, p })
}

/** The exceptions of Bedrock's stream by the types of Anthropic's errors. */
const exceptions: Readonly<Record<string, string>> = {
  rate_limit_error: 'throttlingException',
  invalid_request_error: 'validationException',
  overloaded_error: 'serviceUnavailableException',
  timeout_error: 'modelTimeoutException',
  api_error: 'internalServerException',
}

function errorMessage(event: JsonValue): Uint8Array {
  const error = isObject(event) && isObject(event['error']) ? event['error'] : {}
  const message = asString(error['message'] ?? '')
  const type = asString(error['type'] ?? '')
  const exception = exceptions[type]
  if (exception !== undefined) {
    return jsonMessage({ ':exception-type': exception, ':message-type': 'exception' }, { message })
  }
  const code = type === 'authentication_error' ? 'AccessDeniedException' : type
  return encodeMessage(
    { ':error-code': code, ':error-message': message, ':message-type': 'error' },
    Buffer.alloc(0),
  )
}

function jsonMessage(headers: Readonly<Record<string, string>>, body: JsonObject): Uint8Array {
  const typed = { ...headers, ':content-type': 'application/json' }
  return encodeMessage(typed, Buffer.from(JSON.stringify(body)))
}

/** One message: two lengths and their checksum, the headers, the payload, and the checksum of all. All headers are texts. */
export function encodeMessage(
  headers: Readonly<Record<string, string>>,
  payload: Uint8Array,
): Uint8Array {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const [key, text] = [Buffer.from(name), Buffer.from(value)]
      const type = 7
      return Buffer.from([key.length, ...key, type, text.length >> 8, text.length & 255, ...text])
    }),
  )
  const lengths = Buffer.concat([
    uint32(12 + head.length + payload.length + 4),
    uint32(head.length),
  ])
  const message = Buffer.concat([lengths, uint32(crc32(lengths)), head, payload])
  return new Uint8Array(Buffer.concat([message, uint32(crc32(message))]))
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** CRC-32, bit by bit: the bytes of a test are few, and the decoder has another way. */
function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1))
  }
  return ~sum >>> 0
}
