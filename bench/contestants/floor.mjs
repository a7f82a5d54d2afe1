/** The floor: `fetch`, an SSE parser and `JSON.parse`, and nothing else. */
import { peer } from '../lib/peer.mjs'

const { createParser } = await peer('eventsource-parser')

const prompt = [{ role: 'user', content: 'Tell me about lighthouses.' }]
const formats = {
  'openai-chat': {
    path: '/v1/chat/completions',
    body: { model: 'm', messages: prompt, stream: true },
    text: (data) => data.choices[0]?.delta.content,
    piece: (data) => data.choices[0]?.delta.tool_calls?.[0].function.arguments,
  },
  'openai-responses': {
    path: '/v1/responses',
    body: { model: 'm', input: prompt, stream: true },
    text: (data) => (data.type === 'response.output_text.delta' ? data.delta : undefined),
  },
  anthropic: {
    path: '/v1/messages',
    body: { model: 'm', max_tokens: 1, messages: prompt, stream: true },
    text: (data) => (data.type === 'content_block_delta' ? data.delta.text : undefined),
    piece: (data) => data.delta?.partial_json,
  },
  gemini: {
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
    text: (data) => data.candidates[0]?.content.parts[0]?.text,
  },
}

async function read(url, body, onData) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer test' }
  const response = await fetch(url, { method: 'POST', headers, body })
  const decoder = new TextDecoder()
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '[DONE]') onData(JSON.parse(data))
    },
  })
  for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }))
}

export const contestant = {
  name: 'raw fetch',
  deltas({ wire, url }) {
    const { path, body, text } = formats[wire]
    const json = JSON.stringify(body)
    return async (onDelta) => {
      let length = 0
      await read(url + path, json, (data) => {
        const delta = text(data)
        if (!delta) return
        length += delta.length
        onDelta?.(delta)
      })
      return length
    }
  },
  toolArguments({ wire, url }) {
    const { path, body, piece } = formats[wire]
    const json = JSON.stringify(body)
    return async () => {
      let text = ''
      await read(url + path, json, (data) => {
        text += piece(data) ?? ''
      })
      return JSON.parse(text).content.length
    }
  },
  imports: `import { createParser } from 'eventsource-parser'; globalThis.keep = createParser`,
  program: `import { createParser } from 'eventsource-parser'
const parser = createParser({ onEvent: ({ data }) => { if (data !== '[DONE]') console.log(JSON.parse(data).choices[0]?.delta.content) } })
const decoder = new TextDecoder()
const response = await fetch('https://api.openai.com/v1/chat/completions', { method: 'POST', headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY }, body: '{}' })
for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }))`,
}
