import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { toBedrock } from './bedrock-call.ts'
import type { ClaudeOptions } from './messages-wire.ts'
import { bedrockAdapter } from './platform-adapter.ts'
import type { SignRequest } from './platform-call.ts'

/**
 * An adapter for Claude on Amazon Bedrock, by its `InvokeModel` API. The model is an id of Bedrock (`anthropic.claude-…`), an inference profile
 * or an ARN. It renders and reads what `anthropic` does; the path, the framing of the stream and the errors are those of AWS.
 *
 * Its name is `anthropic-bedrock`. Options that Bedrock does not have, or lacks, are a `ValidationError`. A call without credentials is
 * `missing_key`, and nothing is sent.
 */
export function anthropicBedrock(options: AnthropicBedrockOptions): ChatAdapter {
  return bedrockAdapter(options, toBedrock)
}

/**
 * The options of Claude on Amazon Bedrock.
 *
 * The default `baseUrl` is Bedrock's address in the region. A Bedrock API key (`apiKey`, or one found under the name
 * `anthropic-bedrock`) is sent as a bearer token; `sign` is for credentials of AWS. A key of Anthropic is never looked up for it.
 */
export interface AnthropicBedrockOptions extends ClaudeOptions {
  /** A region of AWS, such as `us-east-1`. */
  readonly region: string
  /**
   * Signs a request (Signature Version 4): returns the headers to add. It is called for each attempt, and what it is given is what
   * is sent. If it fails, the call is `authentication_failed`.
   */
  readonly sign?: SignRequest | undefined
}
