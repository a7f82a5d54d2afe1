import type { ChatAdapter } from '../../contracts/adapter.ts'
import { streamSse } from '../../http/stream-http.ts'
import { openCall } from './open-call.ts'
import { settleOptions, type OpenAiOptions } from './openai-options.ts'
import { collectEventsSync } from '../../run/collect.ts'
import type { ModelEvent } from '../../types/events.ts'

/**
 * A chat adapter for OpenAI's Responses and Chat Completions, and for servers that speak the same language.
 *
 * Options that can not be right throw at once; the rest is checked when a call is made. What a model's family is known
 * to refuse is left out of the call and named in the answer's `metadata.droppedParameters`.
 */
export function openai(options: OpenAiOptions = {}): ChatAdapter {
  const settings = settleOptions(options)
  const { provider, official, hasKey } = settings
  return {
    provider,
    needsModel: true,
    key: { required: official, own: hasKey },
    stream(request, callOptions = {}) {
      const { source, decoder } = openCall(settings, request, callOptions, true)
      return streamSse(source, decoder)
    },
    async generate(request, callOptions = {}) {
      const { source, decoder } = openCall(settings, request, callOptions, false)
      const events: ModelEvent[] = []
      for await (const batch of streamSse(source, decoder)) events.push(...batch)
      return collectEventsSync(events)
    },
  }
}
