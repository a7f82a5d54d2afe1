import { AdapterError, type AdapterErrorReason, type ChatAdapter } from 'allm-ts'
import type { FinishReason, JsonObject, Message } from 'allm-ts'
import * as kit from 'allm-ts/adapter'

/** A chat adapter for Parrot. Its key is `apiKey`, that of the engine, or PARROT_API_KEY. */
export function parrot(options: kit.ConnectionOptions = {}): ChatAdapter {
  return kit.chatAdapter({
    connection: kit.settleConnection(options, {
      provider: 'parrot',
      baseUrl: 'https://api.parrot.example/v1',
    }),
    media: { maxBytes: 5e6, maxFileBytes: 5e6, mimeTypes: ['image/png', 'image/jpeg'] },
    parseFailure: ({ json }) => ({
      reason: reasons[kit.asText(kit.asObject(json)?.['code']) ?? ''],
    }),
    render: (request, context) => ({ path: '/speak', body: bodyOf(request, context), decoder }),
  })
}

/** The words of the API for its failures. What is not here follows from the status. */
const reasons: Readonly<Record<string, AdapterErrorReason | undefined>> = {
  too_long: 'context_length_exceeded',
  improper: 'content_filter',
  tired: 'provider_unavailable',
}

function bodyOf(request: kit.NamedRequest, context: kit.RenderContext): JsonObject {
  const { model, messages, tools, toolChoice, responseFormat } = request
  const { provider, stream, schemas } = context
  if (responseFormat !== undefined && responseFormat.type !== 'text') {
    throw new AdapterError('unsupported_feature', `${provider} writes free text only`)
  }
  kit.leaveOut(request, ['promptCache'], context)
  return kit.defined<JsonObject>({
    model,
    stream,
    ...kit.requestSettings(request, parameters, context),
    effort: kit.nearestEffort(request, ['none', 'low', 'high'], context),
    turns: messages
      .filter((message) => !kit.isBlank(message))
      .map((message) => turnOf(message, provider)),
    choose: toolChoice,
    tools: tools.map((tool, index) => {
      const { name, description: about } = tool
      return { name, about, input: schemas.tool(tool, index, 'plain').schema }
    }),
  })
}

/** The name of each setting in the API. `undefined`: it has none, and the answer says so in `warnings`. */
const parameters = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: undefined,
  maxTokens: 'max_tokens',
  stopSequences: 'stop_at',
  seed: undefined,
  presencePenalty: undefined,
  frequencyPenalty: undefined,
  parallelToolCalls: undefined,
}

function turnOf(message: Message, provider: string): JsonObject {
  const { role, toolCalls = [], toolCallId } = message
  const { text, images, files, reasoning } = kit.sortedContent(message, provider)
  for (const file of files) throw kit.unsupportedFile(provider, file, 'pass its text')
  return kit.defined<JsonObject>({
    who: role,
    thoughts: reasoning.map(({ text: thought, opaque = null }) => ({ thought, seal: opaque })),
    text,
    images: images.map((image) => kit.base64Of(image, provider)),
    calls: toolCalls.map(({ id, name, arguments: input }) => ({ id, tool: name, input })),
    answers: toolCallId,
  })
}

/** Reads the events of an answer: `say`, `think`, `call`, then `stop`, or `fail` at any moment. */
const decoder: kit.MakeDecoder = (sink) => {
  const message = kit.messageBuilder(sink)
  return {
    push(data, event) {
      const chunk = kit.parseChunk(data)
      message.raw(chunk)
      const { text, seal, id, tool, input, why, tokens } = chunk
      if (event === 'say') message.text(kit.asText(text))
      if (event === 'think') message.reasoning(kit.asText(text))
      if (event === 'think' && seal !== undefined) message.endReasoning(seal)
      if (event === 'call') {
        const call = kit.asText(id) ?? sink.newId('call')
        if (tool !== undefined) message.startCall(call, kit.asText(tool) ?? 'unnamed')
        message.callDelta(call, kit.asText(input))
      }
      if (event === 'fail') {
        const reason = reasons[kit.asText(why) ?? ''] ?? 'unknown'
        throw new AdapterError(reason, kit.asText(chunk['message']) ?? reason)
      }
      if (event === 'stop') {
        const { in: inputTokens, out: outputTokens } = kit.asObject(tokens) ?? {}
        message.finish({
          finishReason: finishReasons[kit.asText(why) ?? ''] ?? 'other',
          rawFinishReason: kit.asText(why),
          usage: kit.asUsage({ inputTokens, outputTokens }),
        })
      }
    },
  }
}

const finishReasons: Readonly<Record<string, FinishReason | undefined>> = {
  done: 'stop',
  full: 'length',
  calling: 'tool_calls',
  improper: 'content_filter',
}
