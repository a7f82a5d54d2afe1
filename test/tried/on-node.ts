// The program on Node: with the entry points that need it, and a model behind HTTP.
import { createEngine, generate } from 'allm-ts'
import { inspector } from 'allm-ts/inspector'
import { openai } from 'allm-ts/openai'
import { createFakeServer } from 'allm-ts/server'
import { tried } from './program.ts'

const server = await createFakeServer({ script: [['text', 'Hello over HTTP.']] })
const adapter = openai({ baseUrl: server.openaiBaseUrl, apiKey: 'a-key-for-nothing' })
const { outputText } = await generate(createEngine({ adapter, model: 'any-model' }), 'Hi')
await server.close()

const lines = [...(await tried()), `http: ${outputText}`, `inspector: ${typeof inspector}`]
console.log(lines.join('\n'))
