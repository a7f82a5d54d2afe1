import { jsonObject, listOf, oneOf, shape, someText, text, type Check } from '../schema/checks.ts'
import { toolCall, validateMessage } from '../schema/validate.ts'
import { usageCheck } from './usage-check.ts'
import { finishReasons } from '../types/response.ts'

/** A scripted response: any part of a `ModelResponse`. */
export const responseCheck: Check = shape(
  {},
  {
    requestId: someText,
    id: text,
    model: text,
    provider: text,
    message: validateMessage,
    outputText: text,
    toolCalls: listOf(toolCall),
    finishReason: oneOf(finishReasons),
    rawFinishReason: text,
    usage: usageCheck,
    error: jsonObject,
    metadata: jsonObject,
  },
)
