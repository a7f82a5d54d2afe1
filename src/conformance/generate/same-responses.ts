import { sameJson } from '../../schema/json-schema.ts'
import type { ToolCall } from '../../types/message.ts'
import type { ModelResponse } from '../../types/response.ts'

/** Whether two responses say the same, save what may differ between a stream and a body: ids, metadata, unparsed arguments. */
export function sameResponses(left: ModelResponse, right: ModelResponse): boolean {
  return sameJson(comparable(left), comparable(right))
}

function comparable({ id: _id, metadata: _metadata, ...response }: ModelResponse): unknown {
  const toolCalls = response.toolCalls.map(withoutText)
  const message = response.message.toolCalls
    ? { ...response.message, toolCalls: response.message.toolCalls.map(withoutText) }
    : response.message
  return { ...response, message, toolCalls }
}

function withoutText({ rawArguments: _text, ...call }: ToolCall): Omit<ToolCall, 'rawArguments'> {
  return call
}
