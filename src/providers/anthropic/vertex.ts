import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import type { ClaudeOptions } from './messages-wire.ts'
import { vertexAdapter } from './platform-adapter.ts'
import type { SignRequest } from './platform-call.ts'
import { toVertex } from './vertex-call.ts'

/**
 * An adapter for Claude on Vertex AI. It renders and reads what `anthropic` does; the path, the version and the errors are those of Vertex AI.
 *
 * Its name is `anthropic-vertex`. Options that Vertex AI does not have, or lacks, are a `ValidationError`. A call without credentials is
 * `missing_key`, and nothing is sent.
 */
export function anthropicVertex(options: AnthropicVertexOptions): ChatAdapter {
  return vertexAdapter(options, toVertex)
}

/**
 * The options of Claude on Vertex AI.
 *
 * The default `baseUrl` is Vertex AI's address in the region, with `/v1`; the project and the region are in the path below it. Put the access token into
 * `headers`, as a function that renews it: `headers: async () => ({ authorization: … })`. A key (`apiKey`, or one found under the name
 * `anthropic-vertex`) is sent as a bearer token too. A key of Anthropic is never looked up for it.
 */
export interface AnthropicVertexOptions extends ClaudeOptions {
  /** The id of the project in Google Cloud. */
  readonly project: string
  /** A region of Google Cloud, such as `us-east5`, or `global`, `us`, `eu`. Default: `global`. */
  readonly region?: string | undefined
  /** Returns headers that depend on the request, as on Bedrock. */
  readonly sign?: SignRequest | undefined
}
