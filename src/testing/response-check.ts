import { finishReasons } from '../data/finish-reason.ts'
import type { Check } from '../validate/check.ts'
import { jsonObject } from '../validate/json-value.ts'
import { listOf, shape } from '../validate/shape.ts'
import { toolCall, validateMessage } from '../validate/validate-message.ts'
import { oneOf, someText, text } from '../validate/values.ts'
import { usageCheck } from './usage-check.ts'

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
