// An adapter for Ollama's own API (`/api/chat`), written with `allm-ts/adapter`: JSON lines, settings in `options`, arguments as
// objects, calls that may have no id, results that name their tool, no choice of tools.
import { AdapterError, EngineError } from 'allm-ts'
import type { ChatAdapter, JsonObject, Message, ModelRequest } from 'allm-ts'
import * as kit from 'allm-ts/adapter'

/** How to reach an Ollama server. The default address is that of a local one, which needs no key. */
export interface OllamaOptions extends kit.ConnectionOptions {
  /** How long the model stays in memory after a call: a duration such as `5m`, or seconds. */
  readonly keepAlive?: string | number | undefined
}

/** A chat adapter for Ollama. */
export function ollama(options: OllamaOptions = {}): ChatAdapter {
  const connection = kit.settleConnection(options, {
    provider: 'ollama',
    baseUrl: 'http://127.0.0.1:11434/api',
    needsKey: false,
    checks: { keepAlive: kit.must('a duration such as "5m", or seconds', isDuration) },
  })
  const mimeTypes = ['image/png', 'image/jpeg', 'image/webp']
  return kit.chatAdapter({
    connection,
    media: { maxBytes: 1e8, maxFileBytes: 1e8, mimeTypes },
    headers: { accept: 'application/x-ndjson' },
    splitter: kit.ndjsonSplitter,
    whole: true,
    parseFailure: ({ json }) => ({ reason: reasonIn(kit.asText(kit.asObject(json)?.['error'])) }),
    render(request, context) {
      const schemas = kit.requestSchemas(context.provider, context.warn)
      const body = { ...bodyOf(request, schemas, context), stream: context.stream }
      const own = { keep_alive: options.keepAlive, ...request.providerOptions['ollama'] }
      const all = kit.mergeOptions(body, kit.defined<JsonObject>(own))
      return { path: '/chat', body: all, forms: schemas.forms, decoder: chatDecoder }
    },
  })
}

function isDuration(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d/.test(value))
}

function bodyOf(request: ModelRequest, schemas: kit.RequestSchemas, context: kit.RenderContext) {
  const { model, messages, tools, toolChoice = 'auto', responseFormat: format } = request
  const { provider, warn } = context
  if (model === undefined) throw new EngineError('missing_model', `${provider} needs a model`)
  const options = kit.requestSettings(request, parameters, context)
  if (toolChoice !== 'auto' && toolChoice !== 'none') {
    warn('toolChoice', `${model} cannot be forced to call a tool`)
  }
  const names = kit.toolNames(messages)
  return kit.defined<JsonObject>({
    model,
    messages: messages.map((message) => messageOf(message, names, provider)),
    options: Object.keys(options).length === 0 ? undefined : options,
    think: thinkOf(request, warn),
    format:
      format?.type === 'json_schema'
        ? schemas.answer(format.schema, 'plain').schema
        : { json_object: 'json', text: undefined }[format?.type ?? 'text'],
    tools:
      tools.length === 0 || toolChoice === 'none'
        ? undefined
        : tools.map((tool, index) => {
            const { name, description, strict } = tool
            if (strict === true) warn(`tools.${name}.strict`, 'arguments are not enforced')
            const { schema } = schemas.tool(tool, index, 'plain')
            return { type: 'function', function: { name, description, parameters: schema } }
          }),
  })
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
} satisfies Record<kit.Setting, string | undefined>

/** The effort, or the nearest that the API has. */
function thinkOf({ model, reasoning }: ModelRequest, warn: kit.Warn): string | false | undefined {
  if (reasoning === undefined) return undefined
  const { effort } = reasoning
  if (effort === 'none') return false
  const sent = effort === 'minimal' ? 'low' : effort === 'max' ? 'high' : effort
  const problem = kit.otherEffort(effort, sent)
  if (problem !== undefined) warn('reasoning', `${model} ${problem}`)
  return sent
}

/** A message has one text, its images beside it, and its own reasoning; a result names the tool that gave it. */
function messageOf(
  message: Message,
  names: ReadonlyMap<string, string>,
  provider: string,
): JsonObject {
  const { role, toolCalls = [], toolCallId } = message
  const { text, reasoning, images, files } = kit.sortedContent(message, provider)
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    function: { name, arguments: args },
  }))
  const added = files.map((file) => {
    if (file.type === 'base64' && kit.fileKind(file) === 'text') return kit.fileText(file)
    throw kit.unsupportedFile(provider, file, 'pass the bytes of a text or of an image')
  })
  return kit.defined<JsonObject>({
    role,
    content: [text, ...added].join('\n\n'),
    thinking: kit.asText(reasoning.map((part) => part.text).join('')),
    images: images.length === 0 ? undefined : images.map((image) => kit.base64Of(image, provider)),
    tool_calls: calls.length === 0 ? undefined : calls,
    tool_call_id: toolCallId,
    tool_name: names.get(toolCallId ?? ''),
  })
}

/** Reads the lines of an answer. The last one has `done`. */
const chatDecoder: kit.MakeDecoder = (sink) => {
  const message = kit.messageBuilder(sink)
  return {
    push(line) {
      const chunk = kit.asObject(JSON.parse(line))
      if (chunk === undefined) throw new SyntaxError('a line is not a JSON object')
      message.raw(chunk)
      const error = kit.asText(chunk['error'])
      if (error !== undefined) {
        throw new AdapterError(reasonIn(error) ?? 'provider_unavailable', error)
      }
      message.head({ model: kit.asText(chunk['model']) })
      const said = kit.asObject(chunk['message']) ?? {}
      if (said['thinking']) message.reasoning(kit.asText(said['thinking']) ?? '')
      if (said['content']) {
        message.endReasoning()
        message.text(kit.asText(said['content']) ?? '')
      }
      for (const one of kit.asList(said['tool_calls'])) takeCall(message, sink, one)
      if (chunk['done'] === true) finish(message, chunk)
    },
  }
}

function takeCall(message: kit.MessageBuilder, sink: kit.CallSink, call: unknown): void {
  const { id, function: made } = kit.asObject(call) ?? {}
  const { name, arguments: args = {} } = kit.asObject(made) ?? {}
  message.endCall({
    id: kit.asText(id) ?? sink.newId('call'),
    name: kit.asText(name) ?? 'unnamed',
    ...kit.parseArguments(JSON.stringify(args)),
  })
}

/** The end of an answer. A server that gives no reason has stopped. */
function finish(message: kit.MessageBuilder, chunk: JsonObject): void {
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
}

/** The reason of an error that Ollama only tells in words. */
function reasonIn(error = ''): 'unsupported_feature' | 'context_length_exceeded' | undefined {
  if (/does not support/i.test(error)) return 'unsupported_feature'
  return /context (?:length|size|window)/i.test(error) ? 'context_length_exceeded' : undefined
}
