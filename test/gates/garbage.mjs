// Prints how many bytes a short call leaves that only a full collection frees. Run with --expose-gc, on a heap that is not collected by itself.
import { getHeapSpaceStatistics } from 'node:v8'
import { createEngine, streamGenerate } from '../../dist/index.js'
import { openai } from '../../dist/openai.js'

const calls = 500

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const text = `${chunk({ role: 'assistant' })}${chunk({ content: 'Hello' })}${chunk({}, 'stop')}data: [DONE]\n\n`
const bytes = new TextEncoder().encode(text)
const headers = { 'content-type': 'text/event-stream' }
const fetch = async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })
  return new Response(body, { headers })
}
const adapter = openai({ baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'test', api: 'chat', fetch })
const engine = createEngine({ adapter, model: 'm' })

async function make(count) {
  for (let made = 0; made < count; made++) {
    for await (const event of streamGenerate(engine, 'Hi'))
      if (event.type === 'error') throw new Error(event.error.message)
  }
}

const old = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size

await make(300)
globalThis.gc()
const before = old()
await make(calls)
globalThis.gc({ type: 'minor' })
globalThis.gc({ type: 'minor' })
console.log(Math.round((old() - before) / calls))
