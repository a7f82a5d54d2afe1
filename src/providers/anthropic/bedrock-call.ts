import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { HttpCall, HttpFailure, Refusal } from '../http/call.ts'
import { eventStreamSplitter, type StreamMessage } from '../http/event-stream.ts'
import type { UnsentCall } from '../shared/call.ts'
import {
  listOf,
  objectOf,
  parsed,
  placed,
  textOf,
  type AdapterParts,
  type PlatformOptions,
} from './platform-call.ts'

/**
 * A call of the Messages API as Bedrock takes it: the beta features are in the body, and the stream has the binary framing of AWS.
 */
export function toBedrock(
  call: UnsentCall,
  options: PlatformOptions,
  parts: AdapterParts,
): HttpCall | Promise<HttpCall> {
  const { version = 'bedrock-2023-05-31' } = options
  const { sniffedBody, parseFailure } = parts
  return placed(call, options, parts, ({ name, isStream, body, headers }) => {
    const { 'anthropic-beta': beta, accept = '', ...rest } = headers
    return {
      path: `/${name}/invoke${isStream ? '-with-response-stream' : ''}`,
      // The type of what is inside of the framing.
      headers: { ...rest, accept: accept.replace('text/event-stream', 'application/json') },
      json: { anthropic_version: version, ...withBetas(body, beta) },
      splitter: (limit) =>
        isStream ? eventStreamSplitter(limit, readMessage, sniffedBody(limit)) : sniffedBody(limit),
      parseFailure: (refusal) => bedrockFailure(refusal, parseFailure),
    }
  })
}

/** Bedrock takes the beta features in the body. Those of `providerOptions` are kept. */
function withBetas(body: JsonObject, header = ''): JsonObject {
  const { anthropic_beta, ...rest } = body
  const betas = [...listOf(anthropic_beta), ...header.split(',').map((beta) => beta.trim())]
  const used = [...new Set(betas)].filter((beta) => beta !== '')
  return used.length === 0 ? rest : { ...rest, anthropic_beta: used }
}

/** The types of Anthropic's errors by the names of those of AWS, without `Exception` and in lower case. */
const typesOfAws: Readonly<Record<string, string>> = {
  throttling: 'rate_limit_error',
  servicequotaexceeded: 'rate_limit_error',
  validation: 'invalid_request_error',
  accessdenied: 'permission_error',
  expiredtoken: 'authentication_error',
  unrecognizedclient: 'authentication_error',
  invalidsignature: 'authentication_error',
  incompletesignature: 'authentication_error',
  missingauthenticationtoken: 'authentication_error',
  modeltimeout: 'timeout_error',
  modelnotready: 'overloaded_error',
  serviceunavailable: 'overloaded_error',
  internalserver: 'api_error',
  modelerror: 'api_error',
  modelstreamerror: 'api_error',
}

function typeOfAws(name: string): string | undefined {
  const word = name.toLowerCase().replace(/(?:exception|error)$/, '')
  return Object.hasOwn(typesOfAws, word) ? typesOfAws[word] : typesOfAws[`${word}error`]
}

/** A refusal of AWS: its name is in a header, its words are the `message` of the body. The name says more than the status. */
function bedrockFailure(refusal: Refusal, parseFailure: AdapterParts['parseFailure']): HttpFailure {
  const { headers, status } = refusal
  const body = objectOf(refusal.json)
  // `ThrottlingException:http://…` in the header, `com.amazon…#ThrottlingException` in the body.
  const header = headers.get('x-amzn-errortype')?.split(':')[0]
  const name = header ?? textOf(body['__type']).replace(/^.*#/, '')
  const type = typeOfAws(name)
  const message = body['message'] ?? body['Message']
  const read = parseFailure({
    ...refusal,
    // A status that says nothing leaves it to the type. A timeout has a status of its own.
    status: type === undefined || status === 408 ? status : 0,
    ...(type === undefined ? {} : { json: { error: { type, message } } }),
  })
  const requestId = headers.get('x-amzn-requestid')
  return {
    ...read,
    ...(/input is too long/i.test(textOf(message)) && { reason: 'context_length_exceeded' }),
    ...(/quota/i.test(name) && { retryable: false }),
    metadata: {
      ...read.metadata,
      ...(name !== '' && { type: name }),
      ...(requestId !== null && { providerRequestId: requestId }),
    },
  }
}

/** One for all: every text is decoded whole. */
const utf8 = new TextDecoder()

/** One message of Bedrock's stream: a chunk that holds an event of the Messages API as base64, or a failure. */
function readMessage({ headers, payload }: StreamMessage): string | undefined {
  const body = objectOf(parsed(utf8.decode(payload)))
  switch (headers.get(':message-type')) {
    case 'event': {
      if (headers.get(':event-type') !== 'chunk') return undefined
      const { bytes } = body
      if (typeof bytes !== 'string') throw new Error('a chunk has no bytes')
      return fromBase64(bytes)
    }
    case 'exception':
      return failedEvent(headers.get(':exception-type') ?? '', body['message'])
    case 'error':
      return failedEvent(headers.get(':error-code') ?? '', headers.get(':error-message'))
    default:
      throw new Error('a message is neither an event nor an error')
  }
}

function fromBase64(text: string): string {
  let binary: string
  try {
    binary = atob(text)
  } catch {
    throw new Error('the bytes of a chunk are not base64')
  }
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return utf8.decode(bytes)
}

/** A failure inside a stream, as Anthropic writes one. */
function failedEvent(name: string, message: JsonValue | undefined): string {
  const error = { type: typeOfAws(name) ?? name, message, details: { error_code: name } }
  return JSON.stringify({ type: 'error', error })
}
