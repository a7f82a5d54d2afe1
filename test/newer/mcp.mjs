// The official conformance suite of MCP: its client scenarios against a session with the tools of `connectMcp`, and its server scenarios
// against tools that `serveMcp` offers over streamable HTTP. The table in docs/guides/19-mcp.md lists the same scenarios.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { McpServer } from '@modelcontextprotocol/server'
import {
  askUser,
  content,
  fileFromBase64,
  filePart,
  imageFromBase64,
  imagePart,
  textPart,
  tool,
} from 'allm-ts'
import { serveMcp } from 'allm-ts/mcp'

const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
const program = fileURLToPath(new URL('support/mcp-client.mjs', import.meta.url))

/** Runs one scenario, and returns its checks that passed or failed. */
async function runScenario(...args) {
  const folder = mkdtempSync(join(tmpdir(), 'allm-mcp-'))
  try {
    const output = await new Promise((resolve) => {
      const options = { timeout: 60_000, maxBuffer: 2 ** 26 }
      const command = [suite, ...args, '-o', folder]
      execFile(process.execPath, command, options, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      )
    })
    const files = readdirSync(folder, { recursive: true }).filter((name) =>
      name.endsWith('checks.json'),
    )
    const checks = files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
    // A busy machine is late: that is no judgement about a client.
    const judged = checks.filter(({ status, details }) => status !== 'INFO' && !details?.veryLate)
    return { output, judged }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Nothing failed, and what counts was checked. */
function assertPassed({ output, judged }, scenario, count) {
  assert.deepEqual(
    judged.filter(({ status }) => status === 'FAILURE'),
    [],
    output,
  )
  // A check that was left out because the machine was late is missing.
  const passed = judged.filter(({ status }) => status === 'SUCCESS').length
  assert.ok(passed === count || (scenario === 'sse-retry' && passed === count - 1), output)
}

/** The scenarios, and how many checks each has. */
const clientScenarios = {
  initialize: 1,
  tools_call: 1,
  'sse-retry': 3,
  'elicitation-sep1034-client-defaults': 5,
}
const serverScenarios = {
  'server-initialize': 1,
  ping: 1,
  'tools-list': 1,
  'tools-call-simple-text': 1,
  'tools-call-image': 1,
  'tools-call-audio': 1,
  'tools-call-embedded-resource': 1,
  'tools-call-mixed-content': 1,
  'tools-call-error': 1,
  'tools-call-with-progress': 1,
  'tools-call-elicitation': 1,
  'json-schema-2020-12': 4,
  'elicitation-sep1034-defaults': 5,
  'elicitation-sep1330-enums': 5,
  'server-sse-multiple-streams': 2,
}

describe('client scenarios', { concurrency: 3 }, () => {
  for (const [scenario, count] of Object.entries(clientScenarios)) {
    test(scenario, async () => {
      const command = `${process.execPath} ${program}`
      const ran = await runScenario('client', '--command', command, '--scenario', scenario)
      assertPassed(ran, scenario, count)
    })
  }
})

describe('server scenarios', { concurrency: 3 }, () => {
  let url
  const served = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })

  before(async () => {
    served.listen(0, '127.0.0.1')
    await once(served, 'listening')
    url = `http://127.0.0.1:${served.address().port}/mcp`
  })
  after(() => {
    served.closeAllConnections()
    served.close()
  })

  for (const [scenario, count] of Object.entries(serverScenarios)) {
    test(scenario, async () => {
      const ran = await runScenario('server', '--url', url, '--scenario', scenario)
      assertPassed(ran, scenario, count)
    })
  }
})

/** The sessions of the server, by their ids. */
const transports = new Map()

async function answer(request, response) {
  let transport = transports.get(request.headers['mcp-session-id'])
  if (transport === undefined) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => transports.set(id, transport),
    })
    const server = new McpServer({ name: 'allm-ts', version: '1.0.0' })
    serveMcp(tools, server)
    await server.connect(transport)
  }
  await transport.handleRequest(request, response)
}

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const wav = btoa(`RIFF${'\0'.repeat(4)}WAVEfmt ${'\0'.repeat(20)}`)

/** A tool of the suite, under the name that it looks for. */
const named = (name, handler, schema = { type: 'object' }) =>
  tool({ name, description: `For ${name}.`, schema, handler })

/** Asks with a form of its own, and says what the user answered. */
const asking = (name, properties, message = () => 'Please answer') =>
  named(
    name,
    (args, { answer }) => {
      const form = { type: 'object', properties, required: Object.keys(properties) }
      if (answer === undefined) return askUser(message(args), { resume: true, schema: form })
      return `Elicitation completed: action=accept, content=${answer}`
    },
    { type: 'object', properties: { message: { type: 'string' } } },
  )

const options = ['option1', 'option2', 'option3']
const titled = [
  { const: 'value1', title: 'First' },
  { const: 'value2', title: 'Second' },
  { const: 'value3', title: 'Third' },
]
const text = { type: 'string' }

const tools = [
  named('test_simple_text', () => 'This is a simple text response for testing.'),
  named('test_image_content', () => content([imagePart(imageFromBase64(png))])),
  named('test_audio_content', () => content([filePart(fileFromBase64(wav, 'audio/wav'))])),
  named('test_embedded_resource', () =>
    content([filePart(fileFromBase64(btoa('Hello'), 'text/plain', { name: 'hello.txt' }))]),
  ),
  named('test_multiple_content_types', () =>
    content([
      textPart('Multiple content types test:'),
      imagePart(imageFromBase64(png)),
      filePart(fileFromBase64(btoa('{"test":"data"}'), 'application/json', { name: 'data.json' })),
    ]),
  ),
  named('test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing')
  }),
  named('test_tool_with_progress', async (_args, { progress }) => {
    for (const done of [0, 50, 100]) await progress({ progress: done, total: 100 })
    return 'done'
  }),
  asking('test_elicitation', { username: text, email: text }, ({ message }) => message),
  named('json_schema_2020_12_tool', () => 'done', {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  }),
  asking('test_elicitation_sep1034_defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }),
  asking('test_elicitation_sep1330_enums', {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  }),
]
