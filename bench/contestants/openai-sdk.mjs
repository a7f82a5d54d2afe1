/** The official client of OpenAI. */
import { peer } from '../lib/peer.mjs'

const { default: OpenAI } = await peer('openai')
const messages = [{ role: 'user', content: 'Tell me about lighthouses.' }]
const clientFor = (url) => new OpenAI({ apiKey: 'test', baseURL: `${url}/v1`, maxRetries: 0 })

export const contestant = {
  name: 'openai SDK',
  needs: 'openai',
  deltas({ wire, url }) {
    const client = clientFor(url)
    const streams = {
      'openai-chat': () => client.chat.completions.create({ model: 'm', stream: true, messages }),
      'openai-responses': () =>
        client.responses.create({ model: 'm', stream: true, input: messages[0].content }),
    }
    const open = streams[wire]
    if (open === undefined) return undefined
    return async (onDelta) => {
      let length = 0
      for await (const event of await open()) {
        const delta = event.choices ? event.choices[0]?.delta.content : event.delta
        if (!delta) continue
        length += delta.length
        onDelta?.(delta)
      }
      return length
    }
  },
  toolArguments({ wire, url }) {
    if (wire !== 'openai-chat') return undefined
    const client = clientFor(url)
    return async () => {
      let text = ''
      const stream = await client.chat.completions.create({ model: 'm', stream: true, messages })
      for await (const { choices } of stream) {
        text += choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? ''
      }
      return JSON.parse(text).content.length
    }
  },
  imports: `import OpenAI from 'openai'; globalThis.keep = new OpenAI({ apiKey: 'k' })`,
  program: `import OpenAI from 'openai'
for await (const event of await new OpenAI().chat.completions.create({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] })) console.log(event.choices[0]?.delta.content)`,
}
