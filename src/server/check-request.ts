import type { IncomingHttpHeaders } from 'node:http'
import { assertNever } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import { checkAnthropic } from './check-anthropic.ts'
import { checkGemini } from './check-gemini.ts'
import { checkOpenaiChat } from './check-openai-chat.ts'
import { checkOpenaiResponses } from './check-openai-responses.ts'
import type { RequestProblem } from './check-params.ts'
import type { WireFormat } from './wire-format.ts'

/** The first problem that the provider would report for a request. `model` is the one in the path, where the provider has it there. */
export function checkRequest(
  format: WireFormat,
  body: JsonObject,
  headers: IncomingHttpHeaders,
  model?: string,
): RequestProblem | undefined {
  switch (format) {
    case 'openai_chat':
      return checkOpenaiChat(body)
    case 'openai_responses':
      return checkOpenaiResponses(body)
    case 'anthropic':
      if (headers['anthropic-version'] === undefined)
        return { message: 'anthropic-version: header is required' }
      return checkAnthropic(body, headers['anthropic-beta'] !== undefined)
    case 'gemini':
      return checkGemini(body, model)
    default:
      return assertNever(format)
  }
}

/** The problem of a body that is not a JSON object. */
export function unreadable(format: WireFormat): RequestProblem {
  switch (format) {
    case 'openai_chat':
    case 'openai_responses':
      return { message: 'We could not parse the JSON body of your request.' }
    case 'anthropic':
      return { message: 'The request body is not valid JSON' }
    case 'gemini':
      return { message: 'Invalid JSON payload received. Expected an object.' }
    default:
      return assertNever(format)
  }
}
