import type { ModelRequest, ReasoningEffort } from '../data/model-request.ts'
import { fine, refuse, type Check } from './check.ts'
import { jsonObject } from './json-value.ts'
import { recordOf, shape, tag, tagged } from './shape.ts'
import { between, count, flag, oneOf, someText } from './values.ts'

const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'max']

/** The form of an answer, as data. */
export const responseFormat: Check = tagged({
  text: shape({ type: tag }),
  json_object: shape({ type: tag }),
  json_schema: shape({ type: tag, name: someText, schema: jsonObject, strict: flag }),
})

const cacheOptions = shape({}, { key: someText, retention: oneOf(['short', 'long']) })

const promptCache: Check = (value) => {
  if (value === true) return fine
  return typeof value === 'object'
    ? cacheOptions(value)
    : refuse('true or an object with key and retention', value)
}

/** The fields of a request that are also options of a call. */
type SharedField = Exclude<keyof ModelRequest, 'messages' | 'tools' | 'responseFormat'>

/** The checks that a request and the options of a call have in common. */
export const requestFields: Readonly<Record<SharedField, Check>> = {
  model: someText,
  toolChoice: someText,
  temperature: between(0, 2),
  maxTokens: count,
  reasoning: shape({ effort: oneOf(efforts) }, { summary: flag }),
  promptCache,
  providerOptions: recordOf(jsonObject),
  metadata: jsonObject,
}
