import type { CallOptions } from '../adapter/call-options.ts'
import { defined } from '../data/defined.ts'
import type { Message } from '../data/message.ts'
import { requestKeys, type ModelRequest } from '../data/model-request.ts'
import type { ToolSpec } from '../data/tool-spec.ts'
import { describe } from '../validate/describe.ts'
import { assertOptions, refusal } from './refusal.ts'
import { toResponseFormat } from './response-format.ts'
import { toToolSpec } from './tool.ts'

/** What a request may say beside its messages. */
export interface ModelRequestOptions extends Pick<
  CallOptions,
  | 'model'
  | 'toolChoice'
  | 'temperature'
  | 'maxTokens'
  | 'responseFormat'
  | 'reasoning'
  | 'promptCache'
  | 'providerOptions'
  | 'metadata'
> {
  /** Tools, of which the request keeps what the model sees; handlers stay with the engine. */
  readonly tools?: readonly ToolSpec[] | undefined
}

const legalKeys: readonly string[] = requestKeys.filter((key) => key !== 'messages')

/**
 * One call's input, as plain data, with its defaults filled in.
 *
 * Unknown keys are refused here; the whole is checked when it is sent, or by `validateRequest`.
 */
export function modelRequest(
  messages: readonly Message[],
  options: ModelRequestOptions = {},
): ModelRequest {
  assertOptions('invalid_request', options, legalKeys)
  if (!Array.isArray(messages)) {
    const problem = `must be a list such as [user("…")], not ${describe(messages)}`
    throw refusal('invalid_request', 'messages', problem)
  }
  const { tools = [], responseFormat, providerOptions = {}, metadata = {}, ...rest } = options
  return defined<ModelRequest>({
    ...rest,
    messages,
    tools: tools.map(toToolSpec),
    responseFormat: responseFormat === undefined ? undefined : toResponseFormat(responseFormat),
    providerOptions,
    metadata,
  })
}
