import type { ModelResponse } from '../types/response.ts'
import type { AnswerFacts } from '../types/session.ts'

/** What a session keeps of an answer beside its message. */
export function answerFacts(response: ModelResponse): AnswerFacts {
  const { message: _message, outputText: _text, toolCalls: _calls, ...facts } = response
  return facts
}
