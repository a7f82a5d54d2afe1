import { listOf, someText, type Checks } from '../../core/schema/checks.ts'
import { merged } from '../../core/types/guards.ts'
import { sniffedBody } from '../http/whole-body.ts'
import { joined, type Connection, type ConnectionOptions, type LeanWire } from '../shared/call.ts'
import { fileKind } from '../shared/files.ts'
import { messageDecoder } from './decode.ts'
import { parseFailure } from './failure.ts'
import { renderRequest } from './render-request.ts'

/** The options that all of Claude's places have. */
export interface ClaudeOptions extends ConnectionOptions {
  /**
   * The `anthropic-version` header (`2023-06-01`). From `2026-10-21` on the API takes no `temperature`, and none is sent. On a platform
   * it is in the body (`vertex-2023-10-16`, `bedrock-2023-05-31`).
   */
  readonly version?: string | undefined
  /** The features to turn on, for the `anthropic-beta` header. Those of a call's own header are added. */
  readonly beta?: readonly string[] | undefined
}

/** The checks of the options that all of Claude's places have, and other providers have not. */
export const claudeChecks: Checks = { version: someText, beta: /* @__PURE__ */ listOf(someText) }

/** The Messages API, wherever it is. The key is sent as a bearer token. */
export function messagesWire(
  connection: Connection,
  { version = '2023-06-01', beta = [] }: ClaudeOptions,
): LeanWire {
  return {
    connection,
    models: '',
    media: {
      maxBytes: maxImageBytes,
      maxFileBytes,
      mimeTypes,
      takesBack: (media) => !/audio|video|other/.test(fileKind(media)),
    },
    headers: {
      'anthropic-version': version,
      ...(beta.length === 0 ? {} : { 'anthropic-beta': beta.join(',') }),
    },
    listHeader: 'anthropic-beta',
    join: joined,
    parseFailure,
    splitter: sniffedBody,
    whole: true,
    render(request, { provider, stream, warn }) {
      const { body, forms } = renderRequest(request, { provider, version, warn })
      return {
        path: '/messages',
        body: merged(body, { stream }),
        forms,
        decoder: messageDecoder,
      }
    },
  }
}

/** The API takes up to 10 MiB of base64 for an image. */
const maxImageBytes = (10 * 1024 * 1024 * 3) / 4

/** A request has at most 32 MB, with its files as base64. */
const maxFileBytes = (32_000_000 * 3) / 4

const mimeTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
