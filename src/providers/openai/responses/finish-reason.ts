import { asObject, asText } from '../wire-value.ts'
import type { JsonObject } from '../../../types/json.ts'
import type { FinishReason } from '../../../types/response.ts'

/** Why a response ended, and the provider's own word: the reason of an incomplete one, else its status. */
export interface ResponseEnd {
  readonly finishReason: FinishReason
  readonly rawFinishReason: string | undefined
}

/** Reads how a response ended. One that called tools ended for that, though OpenAI only says `completed`. */
export function responseEnd(response: JsonObject, hasCalls: boolean): ResponseEnd {
  const status = asText(response['status'])
  const why = asText(asObject(response['incomplete_details'])?.['reason'])
  if (status !== 'incomplete') {
    const known = status === 'completed' || status === undefined
    const ended = hasCalls ? 'tool_calls' : 'stop'
    return { finishReason: known ? ended : 'other', rawFinishReason: status }
  }
  return { finishReason: cutReason(why), rawFinishReason: why ?? status }
}

function cutReason(why: string | undefined): FinishReason {
  switch (why) {
    case 'max_output_tokens':
    case 'max_tokens':
      return 'length'
    case 'content_filter':
      return 'content_filter'
    default:
      return 'other'
  }
}
