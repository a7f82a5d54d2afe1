/** The official client of Anthropic. */
import { peer } from '../lib/peer.mjs'

const { default: Anthropic } = await peer('@anthropic-ai/sdk')
const body = {
  model: 'claude-sonnet-4-20250514',
  max_tokens: 4096,
  stream: true,
  messages: [{ role: 'user', content: 'Tell me about lighthouses.' }],
}

export const contestant = {
  name: 'Anthropic SDK',
  needs: '@anthropic-ai/sdk',
  deltas({ wire, url }) {
    if (wire !== 'anthropic') return undefined
    const client = new Anthropic({ apiKey: 'test', baseURL: url, maxRetries: 0 })
    return async (onDelta) => {
      let length = 0
      for await (const event of await client.messages.create(body)) {
        if (event.type !== 'content_block_delta') continue
        length += event.delta.text.length
        onDelta?.(event.delta.text)
      }
      return length
    }
  },
  toolArguments({ wire, url }) {
    if (wire !== 'anthropic') return undefined
    const client = new Anthropic({ apiKey: 'test', baseURL: url, maxRetries: 0 })
    return async () => {
      let text = ''
      for await (const event of await client.messages.create(body)) {
        if (event.type === 'content_block_delta') text += event.delta.partial_json
      }
      return JSON.parse(text).content.length
    }
  },
}
