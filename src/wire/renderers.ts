import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import type { WireFormat } from './wire-answer.ts'
import type { WireRenderer } from './wire-renderer.ts'

/** Who says a plan in which format. */
export const renderers: Readonly<Record<WireFormat, WireRenderer>> = {
  openai_chat: openaiChat,
  openai_responses: openaiResponses,
  anthropic,
  gemini,
}
