/** The four wire formats: what a provider sends, field for field, for a streamed answer of `n` deltas. */
export const wires = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']

const vocabulary =
  'The| old| lighthouse| keeper| counted| seven| ships|,| then| wrote| each| name| down|.|\n'.split(
    '|',
  )
export const word = (index) => vocabulary[index % vocabulary.length]
export const words = (n) => Array.from({ length: n }, (_, index) => word(index))

const sse = (data, { event, end = '\n' } = {}) =>
  `${event === undefined ? '' : `event: ${event}${end}`}data: ${JSON.stringify(data)}${end}${end}`

const padding = 'k3Jw9'

const chatChunk = (choices, usage = null) => ({
  id: 'chatcmpl-Ab12Cd34Ef56Gh78Ij90Kl12Mn34',
  object: 'chat.completion.chunk',
  created: 1760000000,
  model: 'gpt-4o-mini-2024-07-18',
  service_tier: 'default',
  system_fingerprint: 'fp_0011223344',
  choices,
  usage,
  obfuscation: padding,
})

function chatFrames(deltas, finish) {
  const choice = (delta, reason = null) => [
    { index: 0, delta, logprobs: null, finish_reason: reason },
  ]
  const usage = {
    prompt_tokens: 9,
    completion_tokens: deltas.length,
    total_tokens: deltas.length + 9,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  }
  return [
    sse(chatChunk(choice({ role: 'assistant', content: '', refusal: null }))),
    ...deltas.map((delta) => sse(chatChunk(choice(delta)))),
    sse(chatChunk(choice({}, finish))),
    sse(chatChunk([], usage)),
    'data: [DONE]\n\n',
  ]
}

function responsesFrames(n) {
  const item_id = 'msg_00aa11bb22cc33dd44ee55ff'
  const place = { item_id, output_index: 0, content_index: 0 }
  const text = words(n).join('')
  const part = { type: 'output_text', annotations: [], logprobs: [], text }
  const message = { id: item_id, type: 'message', status: 'completed', role: 'assistant' }
  const response = (status, output, usage) => ({
    id: 'resp_00aa11bb22cc33dd44ee55ff66',
    object: 'response',
    created_at: 1760000000,
    status,
    error: null,
    incomplete_details: null,
    model: 'gpt-4o-mini-2024-07-18',
    output,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    usage,
    metadata: {},
  })
  let sequence_number = 0
  const frame = (type, rest) =>
    sse({ type, sequence_number: sequence_number++, ...rest }, { event: type })
  return [
    frame('response.created', { response: response('in_progress', [], null) }),
    frame('response.in_progress', { response: response('in_progress', [], null) }),
    frame('response.output_item.added', {
      output_index: 0,
      item: { ...message, status: 'in_progress', content: [] },
    }),
    frame('response.content_part.added', { ...place, part: { ...part, text: '' } }),
    ...words(n).map((delta) =>
      frame('response.output_text.delta', {
        ...place,
        delta,
        logprobs: [],
        obfuscation: padding,
      }),
    ),
    frame('response.output_text.done', { ...place, text, logprobs: [] }),
    frame('response.content_part.done', { ...place, part }),
    frame('response.output_item.done', { output_index: 0, item: { ...message, content: [part] } }),
    frame('response.completed', {
      response: response('completed', [{ ...message, content: [part] }], {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: n,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: n + 9,
      }),
    }),
  ]
}

function anthropicFrames(block, deltas, stopReason) {
  const frame = (type, rest = {}) => sse({ type, ...rest }, { event: type })
  const usage = {
    input_tokens: 9,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  }
  return [
    frame('message_start', {
      message: {
        id: 'msg_01Ab23Cd45Ef67Gh89',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-20250514',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    }),
    frame('content_block_start', { index: 0, content_block: block }),
    frame('ping'),
    ...deltas.map((delta) => frame('content_block_delta', { index: 0, delta })),
    frame('content_block_stop', { index: 0 }),
    frame('message_delta', {
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: deltas.length },
    }),
    frame('message_stop'),
  ]
}

const geminiFrames = (n) =>
  words(n).map((text, index) =>
    sse(
      {
        candidates: [
          {
            content: { parts: [{ text }], role: 'model' },
            ...(index === n - 1 ? { finishReason: 'STOP' } : {}),
            index: 0,
          },
        ],
        usageMetadata: {
          promptTokenCount: 9,
          candidatesTokenCount: index + 1,
          totalTokenCount: index + 10,
          promptTokensDetails: [{ modality: 'TEXT', tokenCount: 9 }],
        },
        modelVersion: 'gemini-2.5-flash',
        responseId: 'Zz11Yy22Xx33Ww44',
      },
      { end: '\r\n' },
    ),
  )

/** The events of a text answer, one string each. */
export function textFrames(wire, n) {
  if (wire === 'openai-chat')
    return chatFrames(
      words(n).map((content) => ({ content })),
      'stop',
    )
  if (wire === 'openai-responses') return responsesFrames(n)
  if (wire === 'gemini') return geminiFrames(n)
  const deltas = words(n).map((text) => ({ type: 'text_delta', text }))
  return anthropicFrames({ type: 'text', text: '' }, deltas, 'end_turn')
}

/** The arguments of one long tool call, in `n` pieces. */
const pieces = (n) => [
  '{"path":"notes.txt","content":"',
  ...words(n - 2).map((text) => JSON.stringify(text).slice(1, -1)),
  '"}',
]
export const argumentLength = (n) => words(n - 2).join('').length

/** The events of an answer that is one tool call; OpenAI chat and Anthropic only. */
export function callFrames(wire, n) {
  if (wire === 'openai-chat') {
    const first = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'write', arguments: '' },
    }
    const deltas = pieces(n).map((piece) => ({
      tool_calls: [{ index: 0, function: { arguments: piece } }],
    }))
    return chatFrames([{ tool_calls: [first] }, ...deltas], 'tool_calls')
  }
  const deltas = pieces(n).map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  return anthropicFrames(
    { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} },
    deltas,
    'tool_use',
  )
}
