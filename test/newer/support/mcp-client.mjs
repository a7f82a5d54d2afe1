// The client that the MCP conformance suite runs: a session whose model calls every tool of the server, and whose user accepts every question.
// usage: node mcp-client.mjs URL
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createEngine, Session } from 'allm-ts'
import { connectMcp } from 'allm-ts/mcp'
import { fake } from 'allm-ts/testing'

const url = new URL(process.argv[2])
const connection = await connectMcp(async (options) => {
  const capabilities = { elicitation: { form: {} } }
  const client = new Client({ name: 'allm-ts', version: '1.0.0' }, { capabilities })
  await client.connect(new StreamableHTTPClientTransport(url), options)
  return client
})
const { tools } = connection
const numbers = { a: 5, b: 3 }
const calls = tools.map(({ name, schema }, at) => {
  const args = Object.keys(schema.properties ?? {}).map((key) => [key, numbers[key]])
  return ['tool_call', { id: `call-${at}`, name, arguments: Object.fromEntries(args) }]
})
const scripts = [...(calls.length > 0 ? [calls] : []), [['text', 'done']]]
const engine = createEngine({ adapter: fake({ scripts }), tools })
let { session } = await Session.start(engine, 'Use every tool.')
while (session.status === 'awaiting_user') {
  session = (await Session.reply(engine, session, 'accept')).session
}
console.log(JSON.stringify(session.thread.messages))
await connection.close()
process.exitCode = session.status === 'completed' ? 0 : 1
