import type { IncomingHttpHeaders } from 'node:http'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { checkAnthropic, checkPlacedAnthropic } from './check-anthropic.ts'
import { checkGemini } from './check-gemini.ts'
import { checkOpenaiChat } from './check-openai-chat.ts'
import { checkOpenaiResponses } from './check-openai-responses.ts'
import type { RequestProblem } from './check-params.ts'
import type { WireFormat, WirePlatform } from './wire-format.ts'

/** What is known of a request beside its body: the model is the one in the path, where the provider has it there. */
interface CheckedRoute {
  readonly format: WireFormat
  readonly platform?: WirePlatform | undefined
  readonly model?: string | undefined
}

/** The first problem that the provider, or the platform on which the model runs, would report for a request. */
export function checkRequest(
  { format, platform, model }: CheckedRoute,
  body: JsonObject,
  headers: IncomingHttpHeaders,
): RequestProblem | undefined {
  const hasBeta = headers['anthropic-beta'] !== undefined
  switch (format) {
    case 'openai_chat':
      return checkOpenaiChat(body)
    case 'openai_responses':
      return checkOpenaiResponses(body)
    case 'anthropic':
      if (platform !== undefined) return checkPlacedAnthropic(body, platform, hasBeta)
      if (headers['anthropic-version'] === undefined)
        return { message: 'anthropic-version: header is required' }
      return checkAnthropic(body, hasBeta)
    case 'gemini':
      return checkGemini(body, model, platform === 'vertex')
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
