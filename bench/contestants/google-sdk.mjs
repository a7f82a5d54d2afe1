/** The official client of Google. */
import { peer } from '../lib/peer.mjs'

const { GoogleGenAI } = await peer('@google/genai')

export const contestant = {
  name: 'Google SDK',
  needs: '@google/genai',
  deltas({ wire, url }) {
    if (wire !== 'gemini') return undefined
    const client = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: url } })
    const request = { model: 'gemini-2.5-flash', contents: 'Tell me about lighthouses.' }
    return async (onDelta) => {
      let length = 0
      for await (const { text } of await client.models.generateContentStream(request)) {
        if (!text) continue
        length += text.length
        onDelta?.(text)
      }
      return length
    }
  },
}
