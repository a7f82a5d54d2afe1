import { parseArguments } from '../../../core/answer/message-builder.ts'
import { assertNever, defined, parseJson } from '../../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../../core/types/json.ts'
import type { Image, MediaFile } from '../../../core/types/media.ts'
import type { Message, Part, ToolCall } from '../../../core/types/message.ts'
import {
  reasoningEfforts,
  type ModelRequest,
  type PromptCache,
  type ReasoningOptions,
  type ResponseFormat,
  type ToolChoice,
  type ToolSpec,
} from '../../../core/types/request.ts'
import { asCount, asList, asObject, asText } from '../../../providers/shared/read-json.ts'
import type { WireFormat } from '../../server/wire-format.ts'

/**
 * Reads the body of a request in the format of a provider as our own request: what the renderers of the adapters write, and
 * what other clients write.
 *
 * Nothing is lost: a setting that has no field of its own is in `providerOptions`, and a part without one is a `provider_item`. The body is
 * not trusted; a member of the wrong type is passed over. `model` is the one in the path, where the API has it there. `stream` is not
 * part of a request.
 */
export function readRequest(format: WireFormat, body: JsonObject, model?: string): ModelRequest {
  switch (format) {
    case 'openai_chat':
      return readChat(body, model)
    case 'openai_responses':
      return readResponses(body, model)
    case 'anthropic':
      return readAnthropic(body)
    case 'gemini':
      return readGemini(body, model)
    default:
      return assertNever(format)
  }
}

/** The settings of a request, without what every request has. */
type Settings = { readonly [Key in keyof ModelRequest]?: ModelRequest[Key] | undefined }

function requestOf(
  provider: string,
  { messages = [], tools = [], ...settings }: Settings,
  rest: JsonObject,
): ModelRequest {
  const own = defined<JsonObject>(rest)
  return defined<ModelRequest>({
    ...settings,
    messages,
    tools,
    providerOptions: Object.keys(own).length === 0 ? {} : { [provider]: own },
    metadata: {},
  })
}

// Chat Completions

function readChat(body: JsonObject, pathModel: string | undefined): ModelRequest {
  const {
    model,
    messages,
    tools,
    tool_choice,
    parallel_tool_calls,
    temperature,
    top_p,
    top_k,
    max_tokens,
    max_completion_tokens,
    stop,
    seed,
    presence_penalty,
    frequency_penalty,
    response_format,
    reasoning_effort,
    prompt_cache_key,
    prompt_cache_retention,
    stream: _stream,
    stream_options: _streamOptions,
    ...rest
  } = body
  const declared = functionsOf(tools, (tool) => asObject(tool['function']))
  const choice = openaiChoice(tool_choice, (chosen) => asObject(chosen['function'])?.['name'])
  const format = openaiFormat(asObject(response_format), 'json_schema')
  const effort = effortOf(reasoning_effort)
  return requestOf(
    'openai',
    {
      model: pathModel ?? asText(model),
      messages: asList(messages).flatMap(readChatMessage),
      tools: declared.tools,
      toolChoice: choice.choice,
      parallelToolCalls: asFlag(parallel_tool_calls),
      temperature: asCount(temperature),
      topP: asCount(top_p),
      topK: asCount(top_k),
      maxTokens: asCount(max_completion_tokens) ?? asCount(max_tokens),
      stopSequences: textsOf(stop),
      seed: asCount(seed),
      presencePenalty: asCount(presence_penalty),
      frequencyPenalty: asCount(frequency_penalty),
      responseFormat: format.format,
      reasoning: effort === undefined ? undefined : { effort },
      promptCache: openaiCache(prompt_cache_key, prompt_cache_retention),
    },
    loose({
      ...rest,
      tools: declared.others,
      tool_choice: choice.other,
      response_format: format.other,
      reasoning_effort: effort === undefined ? reasoning_effort : undefined,
    }),
  )
}

function readChatMessage(value: JsonValue): readonly Message[] {
  const message = asObject(value) ?? {}
  const { role, content, name, tool_calls, tool_call_id, refusal } = message
  const named = { name: asText(name) }
  switch (role) {
    case 'system':
    case 'developer':
      return [messageOf('system', chatParts(content), named)]
    case 'tool':
    case 'function':
      return [resultOf(asText(tool_call_id) ?? asText(name) ?? '', chatParts(content))]
    case 'assistant': {
      const parts = [...chatReasoning(message), ...chatParts(content), ...textPart(refusal)]
      return [messageOf('assistant', parts, named, asList(tool_calls).map(readChatCall))]
    }
    default:
      return [messageOf('user', chatParts(content), named)]
  }
}

function readChatCall(value: JsonValue): ToolCall {
  const { id, function: called, custom, extra_content } = asObject(value) ?? {}
  const { name, arguments: args } = asObject(called) ?? {}
  const { name: customName, input } = asObject(custom) ?? {}
  return defined<ToolCall>({
    id: asText(id) ?? '',
    name: asText(name) ?? asText(customName) ?? '',
    ...(custom === undefined ? readArguments(args) : { arguments: { input: input ?? '' } }),
    opaque: extra_content === undefined ? undefined : { extra_content },
  })
}

/** Reasoning that goes back to servers that want it. */
function chatReasoning(message: JsonObject): readonly Part[] {
  const { reasoning_details } = message
  const field = ['reasoning_content', 'reasoning'].find((name) => asText(message[name]))
  const text = field === undefined ? '' : (asText(message[field]) ?? '')
  if (asList(reasoning_details).length > 0) {
    return [reasoningPart('openai', text, { reasoning_details: reasoning_details ?? [] })]
  }
  return field === undefined ? [] : [reasoningPart('openai', text, { field })]
}

function chatParts(content: JsonValue | undefined): readonly Part[] {
  if (typeof content === 'string') return textPart(content)
  return asList(content).map((value): Part => {
    const part = asObject(value) ?? {}
    const { type, text, refusal, image_url, input_audio, file } = part
    if (type === 'text' || type === 'refusal') {
      return { type: 'text', text: asText(text) ?? asText(refusal) ?? '' }
    }
    const { url, detail } = asObject(image_url) ?? {}
    const address = asText(url)
    if (type === 'image_url' && address !== undefined) {
      return imagePart(mediaAt(address), detail)
    }
    const { data, format } = asObject(input_audio) ?? {}
    if (type === 'input_audio' && typeof data === 'string') {
      const mimeType = format === 'mp3' ? 'audio/mpeg' : `audio/${asText(format) ?? 'wav'}`
      return { type: 'file', file: { type: 'base64', base64: data, mimeType } }
    }
    return openaiFile(asObject(file)) ?? { type: 'provider_item', provider: 'openai', item: part }
  })
}

/** A file of either API of OpenAI: its bytes, an address, or an id. */
function openaiFile(from: JsonObject | undefined): Part | undefined {
  const { file_id, file_data, file_url, filename } = from ?? {}
  const [id, data, url] = [asText(file_id), asText(file_data), asText(file_url)]
  if (id !== undefined) return { type: 'file', file: { type: 'id', id, provider: 'openai' } }
  const address = data ?? url
  if (address === undefined) return undefined
  const media = mediaAt(address)
  const name = asText(filename)
  const file = name === undefined || media.type === 'id' ? media : { ...media, name }
  return { type: 'file', file }
}

/** The choice of either API of OpenAI, or what it is if it is another. */
function openaiChoice(
  choice: JsonValue | undefined,
  nameIn: (choice: JsonObject) => JsonValue | undefined,
): { readonly choice?: ToolChoice; readonly other?: JsonValue | undefined } {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { choice }
  const object = asObject(choice)
  const name = object?.['type'] === 'function' ? asText(nameIn(object)) : undefined
  return name === undefined ? { other: choice } : { choice: name }
}

/** The format of either API of OpenAI, or what it is if it is another. `inner` is the member with the schema, if it is nested. */
function openaiFormat(
  format: JsonObject | undefined,
  inner?: string,
): { readonly format?: ResponseFormat; readonly other?: JsonObject | undefined } {
  const { type } = format ?? {}
  if (type === 'text' || type === 'json_object') return { format: { type } }
  const facts = inner === undefined ? format : asObject(format?.[inner])
  const schema = asObject(facts?.['schema'])
  if (type !== 'json_schema' || schema === undefined) return { other: format }
  const name = asText(facts?.['name']) ?? 'answer'
  return { format: { type, name, schema, strict: facts?.['strict'] === true } }
}

function openaiCache(
  key: JsonValue | undefined,
  retention: JsonValue | undefined,
): PromptCache | undefined {
  const isLong = retention === '24h'
  if (asText(key) === undefined && !isLong) return undefined
  return defined<Exclude<PromptCache, true>>({
    key: asText(key),
    retention: isLong ? 'long' : undefined,
  })
}

// Responses

function readResponses(body: JsonObject, pathModel: string | undefined): ModelRequest {
  const {
    model,
    input,
    instructions,
    tools,
    tool_choice,
    parallel_tool_calls,
    temperature,
    top_p,
    max_output_tokens,
    text,
    reasoning,
    prompt_cache_key,
    prompt_cache_retention,
    stream: _stream,
    ...rest
  } = body
  const declared = functionsOf(tools, (tool) => tool)
  const choice = openaiChoice(tool_choice, (chosen) => chosen['name'])
  const { format: textFormat, ...otherText } = asObject(text) ?? {}
  const format = openaiFormat(asObject(textFormat))
  const { effort: asked, summary, ...otherReasoning } = asObject(reasoning) ?? {}
  const effort = effortOf(asked)
  const system =
    typeof instructions === 'string' ? [messageOf('system', textPart(instructions))] : []
  return requestOf(
    'openai',
    {
      model: pathModel ?? asText(model),
      messages: [...system, ...readItems(input)],
      tools: declared.tools,
      toolChoice: choice.choice,
      parallelToolCalls: asFlag(parallel_tool_calls),
      temperature: asCount(temperature),
      topP: asCount(top_p),
      maxTokens: asCount(max_output_tokens),
      responseFormat: format.format,
      reasoning:
        effort === undefined
          ? undefined
          : defined<ReasoningOptions>({ effort, summary: summary === 'auto' ? true : undefined }),
      promptCache: openaiCache(prompt_cache_key, prompt_cache_retention),
    },
    loose({
      ...rest,
      tools: declared.others,
      tool_choice: choice.other,
      text: someOf({ ...otherText, format: format.other }),
      reasoning: someOf({
        ...otherReasoning,
        effort: effort === undefined ? asked : undefined,
        summary: effort === undefined || summary !== 'auto' ? summary : undefined,
      }),
    }),
  )
}

/** The items of the input as messages: the items of one answer become one message. */
function readItems(input: JsonValue | undefined): readonly Message[] {
  if (typeof input === 'string') return [messageOf('user', textPart(input))]
  const messages: Message[] = []
  let answer: AnswerDraft | undefined
  const close = (): void => {
    if (answer !== undefined) messages.push(closedAnswer(answer))
    answer = undefined
  }
  for (const value of asList(input)) {
    const item = asObject(value) ?? {}
    const { type, role, content, call_id, output } = item
    if (isSpoken(type, role)) {
      answer ??= { parts: [], calls: [] }
      addAnswerItem(answer, item)
      continue
    }
    close()
    if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      messages.push(resultOf(asText(call_id) ?? '', itemParts(output)))
    } else if (role === 'system' || role === 'developer') {
      messages.push(messageOf('system', itemParts(content)))
    } else if (role === 'user') {
      messages.push(messageOf('user', itemParts(content)))
    } else {
      messages.push(messageOf('user', [{ type: 'provider_item', provider: 'openai', item }]))
    }
  }
  close()
  return messages
}

/** The items that a user sends, and not the model. */
const userItems = /_output$|^mcp_approval_response$|^item_reference$/

/** Whether an item is one of an answer. */
function isSpoken(type: JsonValue | undefined, role: JsonValue | undefined): boolean {
  if (role !== undefined) return role === 'assistant'
  return typeof type === 'string' && type !== 'message' && !userItems.test(type)
}

interface AnswerDraft {
  readonly parts: Part[]
  readonly calls: ToolCall[]
}

function closedAnswer({ parts, calls }: AnswerDraft): Message {
  return messageOf('assistant', parts, {}, calls)
}

function addAnswerItem({ parts, calls }: AnswerDraft, item: JsonObject): void {
  const { type, role, content, call_id, name, arguments: args, input, id, result, summary } = item
  const callsBefore = calls.length === 0 ? {} : { callsBefore: calls.length }
  if (role === 'assistant') {
    parts.push(...itemParts(content))
  } else if (type === 'function_call') {
    calls.push({ id: asText(call_id) ?? '', name: asText(name) ?? '', ...readArguments(args) })
  } else if (type === 'custom_tool_call') {
    calls.push({
      id: asText(call_id) ?? '',
      name: asText(name) ?? '',
      arguments: { input: input ?? '' },
      opaque: { type },
    })
  } else if (type === 'reasoning') {
    const texts = asList(summary).map((part) => asText(asObject(part)?.['text']) ?? '')
    const opaque = loose({
      id,
      encrypted_content: item['encrypted_content'] ?? undefined,
      calls_before: calls.length === 0 ? undefined : calls.length,
    })
    parts.push(reasoningPart('openai', texts.join('\n\n'), opaque))
  } else if (type === 'image_generation_call' && typeof result === 'string') {
    const metadata = loose({ id })
    const image = { type: 'base64', base64: result, mimeType: 'image/png', metadata } as const
    parts.push({ type: 'image', image })
  } else {
    parts.push({ type: 'provider_item', provider: 'openai', item, ...callsBefore })
  }
}

function itemParts(content: JsonValue | undefined): readonly Part[] {
  if (typeof content === 'string') return textPart(content)
  return asList(content).map((value): Part => {
    const part = asObject(value) ?? {}
    const { type, text, refusal, image_url, file_id, detail } = part
    if (type === 'input_text' || type === 'output_text' || type === 'text' || type === 'refusal') {
      return { type: 'text', text: asText(text) ?? asText(refusal) ?? '' }
    }
    if (type === 'input_image') {
      const [address, id] = [asText(image_url), asText(file_id)]
      if (id !== undefined) return imagePart({ type: 'id', id, provider: 'openai' }, detail)
      if (address !== undefined) return imagePart(mediaAt(address), detail)
    }
    const file = type === 'input_file' ? openaiFile(part) : undefined
    return file ?? { type: 'provider_item', provider: 'openai', item: part }
  })
}

// Messages

function readAnthropic(body: JsonObject): ModelRequest {
  const {
    model,
    system,
    messages,
    max_tokens,
    temperature,
    top_p,
    top_k,
    stop_sequences,
    tools,
    tool_choice,
    output_config,
    cache_control,
    stream: _stream,
    ...rest
  } = body
  const declared = asList(tools).map((tool) => asObject(tool) ?? {})
  const others = declared.filter((tool) => !isOwnTool(tool))
  const { disable_parallel_tool_use, ...choice } = asObject(tool_choice) ?? {}
  const { effort: asked, format, ...otherOutput } = asObject(output_config) ?? {}
  const effort = effortOf(asked)
  const { type: formatType, schema } = asObject(format) ?? {}
  const answer = formatType === 'json_schema' ? asObject(schema) : undefined
  const ttl = asObject(cache_control)?.['ttl']
  return requestOf(
    'anthropic',
    {
      model: asText(model),
      messages: [
        ...(system === undefined ? [] : [messageOf('system', anthropicParts(system))]),
        ...asList(messages).flatMap(readTurn),
      ],
      tools: declared.filter(isOwnTool).map(readAnthropicTool),
      toolChoice: anthropicChoice(choice),
      parallelToolCalls: disable_parallel_tool_use === true ? false : undefined,
      temperature: asCount(temperature),
      topP: asCount(top_p),
      topK: asCount(top_k),
      maxTokens: asCount(max_tokens),
      stopSequences: textsOf(stop_sequences),
      responseFormat:
        answer === undefined
          ? undefined
          : { type: 'json_schema', name: 'answer', schema: answer, strict: true },
      reasoning: effort === undefined ? undefined : { effort },
      promptCache:
        cache_control === undefined ? undefined : ttl === '1h' ? { retention: 'long' } : true,
    },
    loose({
      ...rest,
      tools: others.length === 0 ? undefined : others,
      output_config: someOf({
        ...otherOutput,
        effort: effort === undefined ? asked : undefined,
        format: answer === undefined ? format : undefined,
      }),
    }),
  )
}

/** Whether a tool runs at the caller. */
function isOwnTool({ type, input_schema }: JsonObject): boolean {
  return (type === undefined || type === 'custom') && input_schema !== undefined
}

function readAnthropicTool(tool: JsonObject): ToolSpec {
  const { name, description, input_schema, strict, type: _custom, ...own } = tool
  return defined<ToolSpec>({
    name: asText(name) ?? '',
    description: asText(description) ?? '',
    schema: asObject(input_schema) ?? {},
    strict: strict === true ? true : undefined,
    ...blockOptions(own),
  })
}

function anthropicChoice({ type, name }: JsonObject): ToolChoice | undefined {
  if (type === 'any') return 'required'
  if (type === 'auto' || type === 'none') return type
  return type === 'tool' ? asText(name) : undefined
}

/** A turn of the user may hold results of tools, which are messages of their own. */
function readTurn(value: JsonValue): readonly Message[] {
  const { role, content } = asObject(value) ?? {}
  if (typeof content === 'string') {
    return [messageOf(role === 'assistant' ? 'assistant' : 'user', textPart(content))]
  }
  const blocks = asList(content).map((block) => asObject(block) ?? {})
  if (role === 'assistant') return [readAnswerBlocks(blocks)]
  const results = blocks.filter(({ type }) => type === 'tool_result').map(readToolResult)
  const others = blocks.filter(({ type }) => type !== 'tool_result')
  return others.length === 0 ? results : [...results, messageOf('user', anthropicParts(others))]
}

function readToolResult(block: JsonObject): Message {
  const { type: _type, tool_use_id, content, is_error, toolset_name: _toolset, ...own } = block
  const parts = anthropicParts(content ?? '')
  return {
    ...resultOf(asText(tool_use_id) ?? '', parts, is_error === true),
    ...blockOptions(own),
  }
}

function readAnswerBlocks(blocks: readonly JsonObject[]): Message {
  const parts: Part[] = []
  const calls: ToolCall[] = []
  for (const block of blocks) {
    const { type, id, name, input, thinking, signature, data } = block
    const before = calls.length === 0 ? {} : { toolCalls: calls.length }
    if (type === 'tool_use') {
      const { caller, toolset_name } = block
      const opaque = loose({ caller, toolset_name })
      calls.push(
        defined<ToolCall>({
          id: asText(id) ?? '',
          name: asText(name) ?? '',
          arguments: asObject(input) ?? {},
          opaque: Object.keys(opaque).length === 0 ? undefined : opaque,
        }),
      )
    } else if (type === 'thinking') {
      const opaque = { signature: asText(signature) ?? '', ...before }
      parts.push(reasoningPart('anthropic', asText(thinking) ?? '', opaque))
    } else if (type === 'redacted_thinking') {
      const opaque = { redacted: asText(data) ?? '', ...before }
      parts.push(reasoningPart('anthropic', '', opaque))
    } else if (type === 'text') {
      parts.push(...anthropicParts([block]))
    } else {
      const callsBefore = calls.length === 0 ? {} : { callsBefore: calls.length }
      parts.push({ type: 'provider_item', provider: 'anthropic', item: block, ...callsBefore })
    }
  }
  return messageOf('assistant', parts, {}, calls)
}

function anthropicParts(content: JsonValue): readonly Part[] {
  if (typeof content === 'string') return textPart(content)
  return asList(content).map((block) => readBlock(asObject(block) ?? {}))
}

function readBlock(block: JsonObject): Part {
  const { type, text, source, title, ...own } = block
  const options = blockOptions(own)
  if (type === 'text') return { type, text: asText(text) ?? '', ...options }
  const media = anthropicSource(asObject(source))
  if (type === 'image' && media !== undefined) return { type, image: media, ...options }
  if (type === 'document' && media !== undefined) {
    const name = asText(title)
    const file = name === undefined || media.type === 'id' ? media : { ...media, name }
    return { type: 'file', file, ...options }
  }
  return { type: 'provider_item', provider: 'anthropic', item: block }
}

function anthropicSource(source: JsonObject | undefined): Image | undefined {
  const { type, media_type, data, url, file_id } = source ?? {}
  const mimeType = asText(media_type) ?? 'application/octet-stream'
  const [bytes, address, id] = [asText(data), asText(url), asText(file_id)]
  if (type === 'base64' && bytes !== undefined) return { type, base64: bytes, mimeType }
  if (type === 'text' && bytes !== undefined) {
    return { type: 'base64', base64: base64Of(bytes), mimeType }
  }
  if (type === 'url' && address !== undefined) return { type, url: address }
  return type === 'file' && id !== undefined ? { type: 'id', id, provider: 'anthropic' } : undefined
}

/** The members of a block or a tool that have no field of their own. */
function blockOptions({ cache_control, ...rest }: JsonObject): Pick<ToolSpec, 'providerOptions'> {
  const members = loose({ ...rest, cacheControl: cache_control })
  return Object.keys(members).length === 0 ? {} : { providerOptions: { anthropic: members } }
}

// Gemini

function readGemini(given: JsonObject, model: string | undefined): ModelRequest {
  const { contents, systemInstruction, tools, toolConfig, generationConfig, ...rest } =
    camelCased(given)
  const {
    temperature,
    topP,
    topK,
    maxOutputTokens,
    stopSequences,
    seed,
    presencePenalty,
    frequencyPenalty,
    responseMimeType,
    responseSchema,
    responseJsonSchema,
    ...otherConfig
  } = camelCased(asObject(generationConfig) ?? {})
  const declared = asList(tools).map((tool) => camelCased(asObject(tool) ?? {}))
  const others = declared.filter(({ functionDeclarations }) => functionDeclarations === undefined)
  const { functionCallingConfig, ...otherToolConfig } = camelCased(asObject(toolConfig) ?? {})
  const choice = geminiChoice(camelCased(asObject(functionCallingConfig) ?? {}))
  const schema = asObject(responseJsonSchema) ?? asObject(responseSchema)
  const isJson = responseMimeType === 'application/json'
  return requestOf(
    'gemini',
    {
      model,
      messages: readContents(contents, systemInstruction),
      tools: declared.flatMap(({ functionDeclarations }) =>
        asList(functionDeclarations).map(readDeclaration),
      ),
      toolChoice: choice,
      temperature: asCount(temperature),
      topP: asCount(topP),
      topK: asCount(topK),
      maxTokens: asCount(maxOutputTokens),
      stopSequences: textsOf(stopSequences),
      seed: asCount(seed),
      presencePenalty: asCount(presencePenalty),
      frequencyPenalty: asCount(frequencyPenalty),
      responseFormat: !isJson
        ? undefined
        : schema === undefined
          ? { type: 'json_object' }
          : { type: 'json_schema', name: 'answer', schema, strict: true },
    },
    loose({
      ...rest,
      tools: others.length === 0 ? undefined : others,
      toolConfig: someOf({
        ...otherToolConfig,
        functionCallingConfig: choice === undefined ? functionCallingConfig : undefined,
      }),
      generationConfig: someOf({
        ...otherConfig,
        responseMimeType: isJson ? undefined : responseMimeType,
      }),
    }),
  )
}

/** The API takes its members in snake case too. */
function camelCased(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
}

function geminiChoice({ mode, allowedFunctionNames }: JsonObject): ToolChoice | undefined {
  const [name, second] = asList(allowedFunctionNames)
  const word = typeof mode === 'string' ? mode.toUpperCase() : undefined
  if (word === 'AUTO') return 'auto'
  if (word === 'NONE') return 'none'
  if (word !== 'ANY' || second !== undefined) return undefined
  return asText(name) ?? 'required'
}

function readDeclaration(value: JsonValue): ToolSpec {
  const declared = camelCased(asObject(value) ?? {})
  const { name, description, parameters, parametersJsonSchema, ...own } = declared
  return {
    name: asText(name) ?? '',
    description: asText(description) ?? '',
    schema: asObject(parametersJsonSchema) ?? asObject(parameters) ?? { type: 'object' },
    ...(Object.keys(own).length === 0 ? {} : { providerOptions: { gemini: own } }),
  }
}

/** The calls of a conversation so far. Those without an id are numbered, and results without one answer the first that is open. */
interface GeminiCalls {
  count: number
  open: ToolCall[]
}

function readContents(
  contents: JsonValue | undefined,
  system: JsonValue | undefined,
): readonly Message[] {
  const calls: GeminiCalls = { count: 0, open: [] }
  const turns = Array.isArray(contents) ? asList(contents) : [contents ?? '']
  return [
    ...geminiParts(system).map((part) => messageOf('system', [readGeminiPart(part)])),
    ...turns.flatMap((turn) => readGeminiTurn(turn, calls)),
  ]
}

/** The parts of a content, which may also be a text or one part. */
function geminiParts(content: JsonValue | undefined): readonly JsonObject[] {
  if (content === undefined || content === '') return []
  if (typeof content === 'string') return [{ text: content }]
  const object = asObject(content) ?? {}
  const parts = object['parts'] ?? content
  const list = Array.isArray(parts) ? asList(parts) : [parts]
  return list.map((part) =>
    typeof part === 'string' ? { text: part } : camelCased(asObject(part) ?? {}),
  )
}

function readGeminiTurn(turn: JsonValue, calls: GeminiCalls): readonly Message[] {
  const parts = geminiParts(turn)
  if (asObject(turn)?.['role'] === 'model') return [readModelTurn(parts, calls)]
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
  const others = parts.filter(({ functionResponse }) => functionResponse === undefined)
  const messages = results.map((part) => readGeminiResult(part, calls))
  if (others.length === 0) return messages
  return [
    ...messages,
    messageOf(
      'user',
      others.map((part) => readGeminiPart(part)),
    ),
  ]
}

function readModelTurn(parts: readonly JsonObject[], calls: GeminiCalls): Message {
  const content: Part[] = []
  const made: ToolCall[] = []
  for (const part of parts) {
    const { functionCall, thought, text, thoughtSignature } = part
    const signature = asText(thoughtSignature)
    if (functionCall !== undefined) {
      made.push(readGeminiCall(asObject(functionCall) ?? {}, signature, calls))
    } else if (thought === true && typeof text === 'string') {
      content.push(reasoningPart('gemini', text, signature))
    } else {
      const { thoughtSignature: _signature, ...plain } = part
      content.push(readGeminiPart(plain, made.length))
      if (signature !== undefined) {
        const opaque = { thoughtSignature: signature, on: 'previous' }
        content.push(reasoningPart('gemini', '', opaque))
      }
    }
  }
  calls.open = [...made]
  return messageOf('assistant', content, {}, made)
}

function readGeminiCall(
  { id, name, args }: JsonObject,
  thoughtSignature: string | undefined,
  calls: GeminiCalls,
): ToolCall {
  calls.count++
  const given = asText(id)
  const opaque = loose({ thoughtSignature, sentId: given === undefined ? null : undefined })
  return defined<ToolCall>({
    id: given ?? numberedCall(calls.count),
    name: asText(name) ?? '',
    arguments: asObject(args) ?? {},
    opaque: Object.keys(opaque).length === 0 ? undefined : opaque,
  })
}

/** The id of a call to which Gemini gave none: its number in the conversation, from 1. */
export function numberedCall(count: number): string {
  return `call_${count}`
}

function readGeminiResult(part: JsonObject, calls: GeminiCalls): Message {
  const { id, name, response, parts } = camelCased(asObject(part['functionResponse']) ?? {})
  const given = asText(id)
  const at = calls.open.findIndex((call) =>
    given === undefined ? call.name === name : call.id === given,
  )
  const [call] = at === -1 ? [] : calls.open.splice(at, 1)
  const { output, error, ...others } = asObject(response) ?? {}
  const isWhole =
    Object.keys(others).length === 0 && (output === undefined) !== (error === undefined)
  const value = isWhole ? (output ?? error ?? '') : (response ?? '')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const media = asList(parts).map((item) => readGeminiPart(camelCased(asObject(item) ?? {})))
  return resultOf(
    call?.id ?? given ?? '',
    [...textPart(text), ...media],
    isWhole && error !== undefined,
  )
}

function readGeminiPart(part: JsonObject, callsMade: number = 0): Part {
  const { text, inlineData, fileData } = part
  if (typeof text === 'string' && Object.keys(part).length === 1) return { type: 'text', text }
  const { mimeType, data } = camelCased(asObject(inlineData) ?? {})
  if (typeof data === 'string') {
    return mediaPart({ type: 'base64', base64: data, mimeType: asText(mimeType) ?? '' })
  }
  const { fileUri, mimeType: type } = camelCased(asObject(fileData) ?? {})
  if (typeof fileUri === 'string') {
    return mediaPart(
      defined<Image & MediaFile>({ type: 'url', url: fileUri, mimeType: asText(type) }),
    )
  }
  const callsBefore = callsMade === 0 ? {} : { callsBefore: callsMade }
  return { type: 'provider_item', provider: 'gemini', item: part, ...callsBefore }
}

function mediaPart(media: Image): Part {
  return media.mimeType?.startsWith('image/') === true
    ? { type: 'image', image: media }
    : { type: 'file', file: media }
}

// What the formats share

/** A message. A single text is a string, as the library itself writes it. */
function messageOf(
  role: Message['role'],
  parts: readonly Part[],
  facts: { readonly name?: string | undefined } = {},
  calls: readonly ToolCall[] = [],
): Message {
  const [only, second] = parts
  const isPlain =
    only === undefined ||
    (second === undefined && only.type === 'text' && only.providerOptions === undefined)
  return defined<Message>({
    role,
    content: isPlain ? (only?.type === 'text' ? only.text : '') : parts,
    ...facts,
    toolCalls: calls.length === 0 ? undefined : calls,
  })
}

/**
 * The result of a call. OpenAI has no mark for a failure: there a result `{"error": …}` is one, as this library and many others
 * write it.
 */
function resultOf(toolCallId: string, parts: readonly Part[], isError?: boolean): Message {
  const message = { ...messageOf('tool', parts), toolCallId }
  const failed = isError ?? isErrorText(message.content)
  return failed ? { ...message, metadata: { isError: true } } : message
}

function isErrorText(content: Message['content']): boolean {
  const value = typeof content === 'string' ? asObject(parseJson(content)) : undefined
  return value !== undefined && Object.keys(value).join() === 'error'
}

/** A text as a list of parts: an empty one is none. */
function textPart(text: JsonValue | undefined): readonly Part[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []
}

function reasoningPart(provider: string, text: string, opaque: JsonValue | undefined): Part {
  return opaque === undefined
    ? { type: 'reasoning', text, provider }
    : { type: 'reasoning', text, provider, opaque }
}

function imagePart(image: Image, detail: JsonValue | undefined): Part {
  return detail === 'auto' || detail === 'low' || detail === 'high'
    ? { type: 'image', image, detail }
    : { type: 'image', image }
}

/** What an address holds: bytes, if it is a data URI. */
function mediaAt(address: string): Image {
  const [, mimeType, base64] = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s.exec(address) ?? []
  return mimeType === undefined || base64 === undefined
    ? { type: 'url', url: address }
    : { type: 'base64', base64, mimeType }
}

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The arguments of a call as the library reads them from an answer. */
function readArguments(args: JsonValue | undefined): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  return parseArguments(typeof args === 'string' ? args : '')
}

/** The functions among tools, and the others. `factsOf` finds what the API says of a function. */
function functionsOf(
  tools: JsonValue | undefined,
  factsOf: (tool: JsonObject) => JsonObject | undefined,
): { readonly tools: readonly ToolSpec[]; readonly others: readonly JsonObject[] | undefined } {
  const specs: ToolSpec[] = []
  const others: JsonObject[] = []
  for (const value of asList(tools)) {
    const tool = asObject(value) ?? {}
    const facts = tool['type'] === 'function' ? factsOf(tool) : undefined
    const { name, description, parameters, strict } = facts ?? {}
    if (facts === undefined) others.push(tool)
    else {
      specs.push(
        defined<ToolSpec>({
          name: asText(name) ?? '',
          description: asText(description) ?? '',
          schema: asObject(parameters) ?? {},
          strict: typeof strict === 'boolean' ? strict : undefined,
        }),
      )
    }
  }
  return { tools: specs, others: others.length === 0 ? undefined : others }
}

function effortOf(value: JsonValue | undefined): ReasoningOptions['effort'] | undefined {
  return reasoningEfforts.find((effort) => effort === value)
}

function asFlag(value: JsonValue | undefined): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** One text, or a list of them. */
function textsOf(value: JsonValue | undefined): readonly string[] | undefined {
  const texts = (typeof value === 'string' ? [value] : asList(value)).filter(
    (text) => typeof text === 'string',
  )
  return texts.length === 0 ? undefined : texts
}

/** An object without the members that are `undefined`. */
function loose(members: { readonly [name: string]: JsonValue | undefined }): JsonObject {
  return defined<JsonObject>(members)
}

/** The same, or `undefined` if nothing is left. */
function someOf(members: {
  readonly [name: string]: JsonValue | undefined
}): JsonObject | undefined {
  const object = loose(members)
  return Object.keys(object).length === 0 ? undefined : object
}
