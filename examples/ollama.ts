// An adapter for Ollama's own API (`/api/chat`), written with `allm-ts/adapter`: JSON lines, settings in `options`, arguments as
// objects, calls that may have no id, results that name their tool, no choice of tools. Its proof is test/examples/ollama.test.ts.
import { AdapterError } from 'allm-ts'
import type { ChatAdapter, JsonObject, Message, ResponseFormat } from 'allm-ts'
import * as kit from 'allm-ts/adapter'

/**
 * A chat adapter for Ollama. The default address is that of a local server, which needs no key. What has no setting of its own, such as
 * `keep_alive`, goes into `providerOptions.ollama`.
 */
export function ollama(options: kit.ConnectionOptions = {}): ChatAdapter {
  const baseUrl = 'http://127.0.0.1:11434/api'
  const mimeTypes = ['image/png', 'image/jpeg', 'image/webp']
  return kit.chatAdapter({
    connection: kit.settleConnection(options, { provider: 'ollama', baseUrl, needsKey: false }),
    media: { maxBytes: 1e8, maxFileBytes: 1e8, mimeTypes },
    headers: { accept: 'application/x-ndjson' },
    splitter: kit.ndjsonSplitter,
    whole: true,
    parseFailure: ({ json }) => ({ reason: reasonIn(kit.asObject(json)?.['error']) }),
    render: (request, context) => ({ path: '/chat', body: bodyOf(request, context), decoder }),
  })
}

function bodyOf(request: kit.NamedRequest, context: kit.RenderContext) {
  const { model, messages, tools, toolChoice = 'auto', responseFormat } = request
  const { provider, stream, warn, schemas } = context
  const options = kit.requestSettings(request, parameters, context)
  // It caches by itself, without a key and for as long as it likes.
  if (request.promptCache !== true) kit.leaveOut(request, ['promptCache'], context)
  const effort = kit.nearestEffort(request, ['none', 'low', 'medium', 'high'], context)
  if (!/^(auto|none)$/.test(toolChoice)) warn('toolChoice', `${model} cannot be forced to call`)
  const declared = (toolChoice === 'none' ? [] : tools).map((tool, index) => {
    const { name, description, strict } = tool
    if (strict === true) warn(`tools.${name}.strict`, `${model} does not enforce arguments`)
    const { schema: parameters } = schemas.tool(tool, index, 'plain')
    return { type: 'function', function: { name, description, parameters } }
  })
  return kit.defined<JsonObject>({
    model,
    stream,
    messages: messages
      .filter((message) => !kit.isBlank(message))
      .map((message) => messageOf(message, kit.toolNames(messages), provider)),
    options: Object.keys(options).length === 0 ? undefined : options,
    tools: declared.length === 0 ? undefined : declared,
    think: effort === 'none' ? false : effort,
    format: responseFormat && formatOf(responseFormat, schemas),
  })
}

function formatOf(format: ResponseFormat, schemas: kit.RequestSchemas) {
  if (format.type === 'json_schema') return schemas.answer(format.schema, 'plain').schema
  return format.type === 'json_object' ? 'json' : undefined
}

const parameters = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  maxTokens: 'num_predict',
  stopSequences: 'stop',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  parallelToolCalls: undefined,
}

/** A message has one text, images beside it and its own reasoning; a result names the tool that gave it. */
function messageOf(message: Message, names: ReadonlyMap<string, string>, provider: string) {
  const { role, toolCalls = [], toolCallId } = message
  const { text, reasoning, images, files } = kit.sortedContent(message, provider)
  const texts = files.map((file) => {
    if (file.type === 'base64' && kit.fileKind(file) === 'text') return kit.fileText(file)
    throw kit.unsupportedFile(provider, file, 'pass the bytes of a text or of an image')
  })
  const calls = toolCalls.map(({ id, name, arguments: args }) => {
    return { id, function: { name, arguments: args } }
  })
  return kit.defined<JsonObject>({
    role,
    content: [text, ...texts].join('\n\n'),
    thinking: kit.asText(reasoning.map((part) => part.text).join('')),
    images: images.length === 0 ? undefined : images.map((image) => kit.base64Of(image, provider)),
    tool_calls: calls.length === 0 ? undefined : calls,
    tool_call_id: toolCallId,
    tool_name: names.get(toolCallId ?? ''),
  })
}

/** Reads the lines of an answer. The last one has `done`; a server that gives no reason then has stopped. */
const decoder: kit.MakeDecoder = (sink) => {
  const message = kit.messageBuilder(sink)
  return {
    push(line) {
      const chunk = kit.parseChunk(line)
      message.raw(chunk)
      const error = kit.asText(chunk['error'])
      if (error) throw new AdapterError(reasonIn(error) ?? 'provider_unavailable', error)
      message.head({ model: kit.asText(chunk['model']) })
      const { thinking, content, tool_calls } = kit.asObject(chunk['message']) ?? {}
      message.reasoning(kit.asText(thinking))
      if (content) message.endReasoning()
      message.text(kit.asText(content))
      for (const call of kit.asList(tool_calls)) {
        const { id, function: made } = kit.asObject(call) ?? {}
        const { name, arguments: args = {} } = kit.asObject(made) ?? {}
        message.endCall({
          id: kit.asText(id) ?? sink.newId('call'),
          name: kit.asText(name) ?? 'unnamed',
          ...kit.parseArguments(JSON.stringify(args)),
        })
      }
      if (chunk['done'] !== true) return
      const word = kit.asText(chunk['done_reason'])
      const reason = word === 'length' ? word : (word ?? 'stop') === 'stop' ? 'stop' : 'other'
      message.finish({
        finishReason: reason === 'stop' && message.calls.length > 0 ? 'tool_calls' : reason,
        rawFinishReason: word,
        usage: kit.asUsage({
          inputTokens: chunk['prompt_eval_count'],
          outputTokens: chunk['eval_count'],
          cachedInputTokens: chunk['prompt_eval_cached_count'],
        }),
      })
    },
  }
}

/** Ollama tells the reason of an error only in words. */
function reasonIn(error: unknown): 'unsupported_feature' | 'context_length_exceeded' | undefined {
  if (/does not support/i.test(String(error))) return 'unsupported_feature'
  return /context (length|size|window)/i.test(String(error)) ? 'context_length_exceeded' : undefined
}
