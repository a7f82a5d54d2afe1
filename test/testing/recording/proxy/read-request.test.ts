import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../../src/anthropic.ts'
import { gemini } from '../../../../src/gemini.ts'
import {
  isAllmError,
  messageText,
  textPart,
  type ChatAdapter,
  type JsonObject,
  type Message,
  type ModelRequest,
  type Part,
} from '../../../../src/index.ts'
import { openaiChat, openaiResponses } from '../../../../src/openai.ts'
import type { WireFormat } from '../../../../src/server.ts'
import { readRequest } from '../../../../src/testing/recording/proxy/read-request.ts'
import { json, jsonObject, modelRequest } from '../../../support/arbitraries.ts'

type Sent = { readonly body: JsonObject; readonly model: string | undefined }

const adapters = {
  openai_chat: (fetch) => openaiChat({ fetch, apiKey: 'k', family: 'compatible' }),
  openai_responses: (fetch) => openaiResponses({ fetch, apiKey: 'k', family: 'compatible' }),
  anthropic: (fetch) => anthropic({ fetch, apiKey: 'k' }),
  gemini: (fetch) => gemini({ fetch, apiKey: 'k' }),
} satisfies Record<
  WireFormat,
  (fetch: (url: string, init: RequestInit) => Promise<Response>) => ChatAdapter
>

/** What the adapter of a format sends for a request; `undefined` if it refuses to. */
async function sent(format: WireFormat, request: ModelRequest): Promise<Sent | undefined> {
  let found: Sent | undefined
  const adapter = adapters[format](async (url, init) => {
    const [, model] = /models\/(.+):/.exec(url) ?? []
    const body = JSON.parse(init.body as string) as JsonObject
    found = { body, model: model === undefined ? undefined : decodeURIComponent(model) }
    throw new TypeError('enough')
  })
  try {
    for await (const batch of adapter.stream(request)) void batch
  } catch (error) {
    if (!isAllmError(error)) throw error
  }
  return found
}

/**
 * A request in which every message says something: what renderers leave out or put elsewhere (empty messages, media of tools and
 * of the model, raw arguments that differ from the decoded ones) cannot come back.
 */
function plain(request: ModelRequest): ModelRequest {
  const messages = request.messages.map(({ role, content, toolCalls, toolCallId }): Message => {
    const parts = typeof content === 'string' ? [textPart(content)] : content
    const kept = parts.flatMap((part): readonly Part[] => {
      if (part.type === 'text') return [textPart(`${part.text}.`)]
      return part.type === 'image' && part.image.type === 'url' && role === 'user' ? [part] : []
    })
    return {
      role,
      content: kept.every(({ type }) => type === 'text')
        ? `${messageText({ role, content: kept })}.`
        : kept,
      ...(toolCalls === undefined
        ? {}
        : {
            toolCalls: toolCalls.map(({ id, name, arguments: args }) => ({
              id,
              name,
              arguments: args,
            })),
          }),
      ...(toolCallId === undefined ? {} : { toolCallId }),
    }
  })
  return { ...request, messages, model: 'm' }
}

const formats = Object.keys(adapters) as WireFormat[]

describe.each(formats)('%s', (format) => {
  test('what an adapter sends, read and sent again, is the same', async () => {
    let seen = 0
    await fc.assert(
      fc.asyncProperty(modelRequest, async (request) => {
        const first = await sent(format, plain(request))
        if (first === undefined) return
        seen++
        const read = readRequest(format, first.body, first.model)
        expect(await sent(format, read)).toEqual(first)
      }),
      { numRuns: 150 },
    )
    expect(seen).toBeGreaterThan(10)
  })

  test('a hostile body is read without an error, as JSON', () => {
    const names = ['messages', 'input', 'contents', 'tools', 'system', 'generationConfig', 'text']
    const hostile = fc.dictionary(fc.constantFrom(...names), json)
    fc.assert(
      fc.property(fc.oneof(hostile, jsonObject), (body) => {
        const read = readRequest(format, body)
        expect(JSON.parse(JSON.stringify(read))).toEqual(read)
      }),
      { numRuns: 300 },
    )
  })
})

/** What other clients write, and what the library reads in it. */
const samples: readonly (readonly [string, WireFormat, JsonObject, object])[] = [
  [
    'roles, names, audio, files and refusals',
    'openai_chat',
    {
      model: 'gpt-4o',
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          name: 'ann',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
            { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
            {
              type: 'file',
              file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' },
            },
            { type: 'file', file: { file_id: 'file-1' } },
            { type: 'novelty', x: 1 },
          ],
        },
        { role: 'assistant', content: null, refusal: 'No.', reasoning_content: 'Hm.' },
      ],
    },
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          name: 'ann',
          content: [
            {
              type: 'image',
              image: { type: 'base64', base64: 'AAAA', mimeType: 'image/png' },
              detail: 'low',
            },
            { type: 'file', file: { type: 'base64', base64: 'BBBB', mimeType: 'audio/mpeg' } },
            {
              type: 'file',
              file: { type: 'base64', base64: 'CCCC', mimeType: 'application/pdf', name: 'a.pdf' },
            },
            { type: 'file', file: { type: 'id', id: 'file-1', provider: 'openai' } },
            { type: 'provider_item', provider: 'openai', item: { type: 'novelty', x: 1 } },
          ],
        },
        {
          role: 'assistant',
          content: [
            {
              type: 'reasoning',
              text: 'Hm.',
              provider: 'openai',
              opaque: { field: 'reasoning_content' },
            },
            { type: 'text', text: 'No.' },
          ],
        },
      ],
    },
  ],
  [
    'calls, results and failures',
    'openai_chat',
    {
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: 'g', arguments: '{bad' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: '{"error":"down"}' },
        { role: 'tool', tool_call_id: 'b', content: 'fine' },
      ],
    },
    {
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [
            { id: 'a', name: 'f', arguments: { x: 1 }, rawArguments: '{"x":1}' },
            { id: 'b', name: 'g', arguments: {}, rawArguments: '{bad' },
          ],
        },
        { role: 'tool', toolCallId: 'a', content: '{"error":"down"}', metadata: { isError: true } },
        { role: 'tool', toolCallId: 'b', content: 'fine' },
      ],
    },
  ],
  [
    'settings, and those without a field of their own',
    'openai_chat',
    {
      model: 'm',
      messages: [],
      max_completion_tokens: 5,
      stop: 'END',
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
      },
      reasoning_effort: 'xhigh',
      logprobs: true,
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: 'custom', custom: { name: 'c' } }],
    },
    {
      maxTokens: 5,
      stopSequences: ['END'],
      toolChoice: 'f',
      responseFormat: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      providerOptions: {
        openai: {
          reasoning_effort: 'xhigh',
          logprobs: true,
          tools: [{ type: 'custom', custom: { name: 'c' } }],
        },
      },
    },
  ],
  [
    'items of one answer',
    'openai_responses',
    {
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'go' }] },
        {
          type: 'reasoning',
          id: 'r',
          summary: [{ type: 'summary_text', text: 'Hm.' }],
          encrypted_content: 'x',
        },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One.' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'web_search_call', id: 'ws' },
        { type: 'function_call_output', call_id: 'a', output: 'ok' },
        { type: 'item_reference', id: 'ref' },
      ],
      reasoning: { effort: 'low', summary: 'detailed' },
      text: { verbosity: 'low', format: { type: 'json_object' } },
      store: false,
    },
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            {
              type: 'reasoning',
              text: 'Hm.',
              provider: 'openai',
              opaque: { id: 'r', encrypted_content: 'x' },
            },
            { type: 'text', text: 'One.' },
            {
              type: 'provider_item',
              provider: 'openai',
              item: { type: 'web_search_call', id: 'ws' },
              callsBefore: 1,
            },
          ],
          toolCalls: [{ id: 'a', name: 'f', arguments: {}, rawArguments: '{}' }],
        },
        { role: 'tool', toolCallId: 'a', content: 'ok' },
        {
          role: 'user',
          content: [
            {
              type: 'provider_item',
              provider: 'openai',
              item: { type: 'item_reference', id: 'ref' },
            },
          ],
        },
      ],
      reasoning: { effort: 'low' },
      responseFormat: { type: 'json_object' },
      providerOptions: {
        openai: { store: false, text: { verbosity: 'low' }, reasoning: { summary: 'detailed' } },
      },
    },
  ],
  [
    'blocks, thinking, hosted tools and failures',
    'anthropic',
    {
      model: 'claude',
      max_tokens: 9,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
            { type: 'server_tool_use', id: 'b', name: 'web_search', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [{ type: 'text', text: 'no' }],
              is_error: true,
            },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
      tools: [
        { name: 'f', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 1024 },
    },
    {
      maxTokens: 9,
      messages: [
        {
          role: 'system',
          content: [
            {
              type: 'text',
              text: 'Be brief.',
              providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
            },
          ],
        },
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Hm.', provider: 'anthropic', opaque: { signature: 's' } },
            {
              type: 'provider_item',
              provider: 'anthropic',
              item: { type: 'server_tool_use', id: 'b', name: 'web_search', input: {} },
              callsBefore: 1,
            },
          ],
          toolCalls: [{ id: 'a', name: 'f', arguments: { x: 1 } }],
        },
        { role: 'tool', toolCallId: 'a', content: 'no', metadata: { isError: true } },
        { role: 'user', content: 'And now?' },
      ],
      tools: [{ name: 'f', description: '', schema: { type: 'object' } }],
      toolChoice: 'required',
      parallelToolCalls: false,
      providerOptions: {
        anthropic: {
          tools: [{ type: 'web_search_20250305', name: 'web_search' }],
          thinking: { type: 'enabled', budget_tokens: 1024 },
        },
      },
    },
  ],
  [
    'snake case, calls without ids, signatures and responses of any shape',
    'gemini',
    {
      system_instruction: 'Be brief.',
      contents: [
        { parts: [{ text: 'go' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
        {
          role: 'model',
          parts: [
            { text: 'Hm.', thought: true, thoughtSignature: 't' },
            { functionCall: { name: 'f', args: { x: 1 } }, thoughtSignature: 's' },
            { functionCall: { name: 'f', args: { x: 2 } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'f', response: { celsius: 21 } } },
            { functionResponse: { name: 'f', response: { error: 'down' } } },
          ],
        },
      ],
      generation_config: {
        max_output_tokens: 5,
        response_mime_type: 'application/json',
        candidate_count: 1,
      },
      tool_config: { function_calling_config: { mode: 'any', allowed_function_names: ['f'] } },
      tools: [{ function_declarations: [{ name: 'f' }] }, { google_search: {} }],
    },
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'go' },
            { type: 'image', image: { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'reasoning', text: 'Hm.', provider: 'gemini', opaque: 't' }],
          toolCalls: [
            {
              id: 'call_1',
              name: 'f',
              arguments: { x: 1 },
              opaque: { thoughtSignature: 's', sentId: null },
            },
            { id: 'call_2', name: 'f', arguments: { x: 2 }, opaque: { sentId: null } },
          ],
        },
        { role: 'tool', toolCallId: 'call_1', content: '{"celsius":21}' },
        { role: 'tool', toolCallId: 'call_2', content: 'down', metadata: { isError: true } },
      ],
      maxTokens: 5,
      responseFormat: { type: 'json_object' },
      toolChoice: 'f',
      tools: [{ name: 'f', description: '', schema: { type: 'object' } }],
      providerOptions: {
        gemini: { tools: [{ googleSearch: {} }], generationConfig: { candidateCount: 1 } },
      },
    },
  ],
]

test.each(samples)('%s (%s)', (_name, format, body, expected) => {
  expect(readRequest(format, body)).toMatchObject(expected)
})
