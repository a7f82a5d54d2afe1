// A chat endpoint: takes a Web Request and answers with server-sent events. It fits any server that is built on `fetch`.
import { createEngine, streamChat } from 'allm-ts'
import { choose } from './choose.ts'

const engine = createEngine(
  choose([
    [
      ['text', 'Hello '],
      ['text', 'from the server.'],
    ],
  ]),
)

async function handle(request: Request): Promise<Response> {
  const { text } = (await request.json()) as { text: string }
  return streamChat(engine, text, { signal: request.signal }).toHttpResponse()
}

const body = JSON.stringify({ text: 'hi' })
const response = await handle(new Request('http://localhost/chat', { method: 'POST', body }))

for (const line of (await response.text()).split('\n')) {
  if (line.includes('text_delta')) console.log(line)
}
// => data: {"type":"text_delta","delta":"Hello "}
// => data: {"type":"text_delta","delta":"from the server."}
