// What scripts/try-package.mjs compiles, bundles and runs: a program of somebody who installed the package. It uses every entry point that
// needs no Node, on the fake, and says what came out.
import { chat, createEngine, generate, Session, streamChat, textDeltas, tool, user } from 'allm-ts'
import { reasonOfStatus } from 'allm-ts/adapter'
import { fromAiSdk } from 'allm-ts/ai-sdk'
import { anthropic } from 'allm-ts/anthropic'
import { connectRun, type RunClientState } from 'allm-ts/client'
import { cohereRerank } from 'allm-ts/cohere'
import { streamAdapterCases } from 'allm-ts/conformance'
import { gemini } from 'allm-ts/gemini'
import { serveMcp } from 'allm-ts/mcp'
import { fallback } from 'allm-ts/middleware'
import { openai } from 'allm-ts/openai'
import { otel } from 'allm-ts/otel'
import { sweep } from 'allm-ts/queues'
import { createRuns } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'
import { sendUiMessages } from 'allm-ts/ui'

const schema = { type: 'object', properties: { city: { type: 'string' } } } as const
const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema,
  handler: ({ city }) => ({ city: city?.trim() ?? 'nowhere', celsius: 21 }),
})
const calling = [
  ['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }],
] as const
const saying = [['text', 'It is 21 degrees.']] as const

/** A line for each thing that was tried. */
export async function tried(): Promise<readonly string[]> {
  return [
    `generate: ${await generated()}`,
    `chat: ${await looped()}`,
    `stream: ${await streamed()}`,
    `session: ${await resumed()}`,
    `run: ${await approvedByClient()}`,
    `page: ${await shown()}`,
    `platform: ${await refusedByBedrock()}`,
    `rest: ${rest()}`,
  ]
}

async function generated(): Promise<string> {
  const broken = fake({ script: [['preflight_error', 'provider_unavailable', {}]] })
  const adapter = fallback([broken, fake({ script: [['text', 'Bonjour.']] })])
  return (await generate(createEngine({ adapter, retry: false }), [user('Hi')])).outputText
}

async function looped(): Promise<string | undefined> {
  const engine = createEngine({ adapter: fake({ scripts: [calling, saying] }), tools: [weather] })
  const { finalResponse } = await chat(engine, 'How warm is Ghent?', { maxTurns: 3 })
  return finalResponse?.outputText
}

async function streamed(): Promise<string> {
  const engine = createEngine({ adapter: fake({ scripts: [calling, saying] }), tools: [weather] })
  const cities: (string | undefined)[] = []
  for await (const event of streamChat(engine, 'How warm is Ghent?', { toolChoice: 'weather' })) {
    if (event.type === 'tool_execution_started' && event.name === 'weather') {
      cities.push(event.arguments.city)
    }
  }
  const again = createEngine({ adapter: fake({ script: saying }) })
  for await (const text of textDeltas(streamChat(again, 'And now?'))) cities.push(text)
  return cities.join(', ')
}

async function resumed(): Promise<string | undefined> {
  const first = createEngine({ adapter: fake({ script: calling }), tools: [weather] })
  const stream = Session.streamStart(first, [user('How warm is Ghent?')])
  for await (const event of stream) if (event.type === 'tool_result_encoded') break
  const saved = Session.parse(Session.stringify(stream.session))
  const second = createEngine({ adapter: fake({ script: saying }), tools: [weather] })
  return (await Session.resume(second, saved)).result.finalResponse?.outputText
}

/** A run on the memory store. Its call waits until the client, which talks to the handler, lets it through. */
async function approvedByClient(): Promise<string> {
  const careful = tool({ ...weather, needsApproval: true })
  const engine = createEngine({ adapter: fake({ scripts: [calling, saying] }), tools: [careful] })
  const runs = createRuns({ engine, store: memoryStore() })
  const handler = runs.handler({ authorize: () => ({}) })
  const client = connectRun({
    url: 'http://localhost/runs/ada',
    fetch: (url, init) => handler(new Request(url, init)),
  })
  const state = (isIt: (state: RunClientState) => boolean): Promise<RunClientState> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (isIt(client.state)) resolve(client.state)
      }
      client.subscribe(look)
      look()
    })
  await state(({ loaded }) => loaded)
  await client.send('How warm is Ghent?')
  const waiting = await state(({ status }) => status === 'awaiting_approval')
  await client.approve(waiting.pendingApprovals[0]?.id ?? '')
  const { messages } = await state(({ status, running }) => status === 'completed' && !running)
  client.close()
  await runs.close()
  return messages.flatMap(({ role, text }) => (text ? [`${role} ${text}`] : [])).join(', ')
}

async function shown(): Promise<boolean> {
  const engine = createEngine({ adapter: fake({ script: saying }) })
  const runs = createRuns({ engine, store: memoryStore() })
  const words = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] } as const
  const text = await (await sendUiMessages(runs, 'ada', [words])).text()
  await runs.close()
  return text.includes('It is 21 degrees.')
}

/** By the deprecated word: the code of the platform is loaded for this call, so bundlers keep it apart. */
async function refusedByBedrock(): Promise<string> {
  const asked: string[] = []
  const adapter = anthropic({
    platform: 'bedrock',
    region: 'us-east-1',
    apiKey: 'a-key-for-nothing',
    fetch: async (url) => {
      asked.push(new URL(url).host)
      return Response.json({ message: 'The security token is invalid.' }, { status: 403 })
    },
  })
  const engine = createEngine({ adapter, model: 'any-model', retry: false })
  const failure = await generate(engine, 'Hi').then(
    () => 'an answer',
    (error: unknown) => (error instanceof Error ? error.name : 'no error'),
  )
  return `${failure} of ${asked.join()}`
}

/** What is there, without a call. */
function rest(): string {
  const apiKey = 'a-key-for-nothing'
  const adapters = [openai({ apiKey }), gemini({ apiKey }), cohereRerank({ apiKey })]
  const functions = [fromAiSdk, otel, serveMcp, sweep]
  return [
    ...adapters.map(({ provider }) => provider),
    ...functions.map((one) => typeof one),
    reasonOfStatus(429),
    String(streamAdapterCases.length > 10),
  ].join(' ')
}
