import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'
import { bundled, inOneFile, ownBytes, split } from './program.ts'

/** Streams text from OpenAI by one of its adapters. */
const streaming = (adapter: string): string => `
import { createEngine, streamGenerate, user } from './src/index.ts'
import { ${adapter} } from './src/openai.ts'
const engine = createEngine({ adapter: ${adapter}(), model: 'gpt-5' })
for await (const event of streamGenerate(engine, [user('hi')])) console.log(event)
`

const openai = streaming('openai')

const three = `${openai}
import { anthropic } from './src/anthropic.ts'
import { gemini } from './src/gemini.ts'
console.log(anthropic(), gemini())
`

const loop = `
import { chat, createEngine, tool, user } from './src/index.ts'
import { openai } from './src/openai.ts'
const weather = tool({ name: 'weather', description: 'The weather.', schema: {}, handler: () => 'sun' })
const engine = createEngine({ adapter: openai(), model: 'gpt-5', tools: [weather] })
console.log(await chat(engine, [user('hi')]))
`

/** The loop of a conversation: no tools. */
const talk = `
import { chat, createEngine, user } from './src/index.ts'
import { openaiChat } from './src/openai.ts'
const engine = createEngine({ adapter: openaiChat(), model: 'gpt-5' })
console.log(await chat(engine, [user('hi')]))
`

/** The sizes of the programs and a reserve of some percent: a budget decides what an entry point imports, and never how code is written. */
const budgets = {
  openai: 56_000,
  openaiChat: 53_000,
  openaiResponses: 53_000,
  three: 74_000,
  loop: 73_000,
  talk: 60_000,
}

/** The folders that a program which only streams text does not use. */
const unused = new Set(['testing', 'server', 'session', 'stores', 'chat', 'tools', 'models'])

test('streaming text from OpenAI stays within its byte budget and bundles no fake, session, tool runner or image code', async () => {
  const { gzip, inputs } = await bundled(openai)
  expect(gzip).toBeLessThan(budgets.openai)
  expect(inputs.filter((path) => unused.has(path.split('/')[1] ?? ''))).toEqual([])
})

test.each([
  ['openaiChat', 'responses'],
  ['openaiResponses', 'chat'],
] as const)('%s bundles no code of the other API', async (adapter, other) => {
  const { gzip, inputs } = await bundled(streaming(adapter))
  expect(gzip).toBeLessThan(budgets[adapter])
  expect(inputs.filter((path) => path.endsWith(`-${other}.ts`))).toEqual([])
})

test('all three providers stay within their byte budget', async () => {
  expect((await bundled(three)).gzip).toBeLessThan(budgets.three)
})

test('what Claude needs on a platform is loaded when it is used: at most 3.5 KB, and no file that is there already', async () => {
  const { start, later } = await split(three)
  expect(later.map(({ inputs }) => inputs)).toEqual([
    ['src/http/event-stream.ts', 'src/providers/anthropic/platforms.ts'],
  ])
  expect(later[0]?.gzip).toBeLessThanOrEqual(3500)
  expect(start.inputs).not.toContain('src/http/event-stream.ts')
  // A bundler that does not split puts it into the program.
  expect(await inOneFile(three)).toBeLessThanOrEqual(77_500)
})

test('a program with OpenAI alone has nothing of the platforms, also in one file', async () => {
  const { start, later } = await split(openai)
  expect(later).toEqual([])
  expect(start.inputs.filter((path) => path.includes('platform'))).toEqual([])
  expect(await inOneFile(openai)).toBe(start.gzip)
})

test('a loop with a tool stays within its byte budget', async () => {
  expect((await bundled(loop)).gzip).toBeLessThan(budgets.loop)
})

test('a loop without tools stays within its byte budget, and has no runner of tools and no JSON Schema validator', async () => {
  const { gzip, inputs } = await bundled(talk)
  expect(gzip).toBeLessThan(budgets.talk)
  const runner = inputs.filter((path) => /^src\/(?:tools\/|schema\/json-schema)/.test(path))
  expect(runner).toEqual([])
})

test('the client for pages is at most 4 KB, and has nothing but itself', async () => {
  const { gzip, inputs } = await bundled(`
import { connectRun } from './src/client.ts'
console.log(connectRun({ url: '/runs/ada' }).state)
`)
  expect(gzip).toBeLessThanOrEqual(4096)
  const others = inputs.filter((path) => !path.startsWith('src/client/') && path !== '<stdin>')
  expect(others).toEqual([])
})

/** A program with an engine, all providers and all that authors of adapters get, and what else it logs. */
const everyAdapter = (imported = '', logged = ''): string => `${three}
import * as kit from './src/adapter.ts'
${imported}
console.log(kit, ${logged})
`

test('a model of the AI SDK as an adapter adds at most 5 KB to what every adapter stands on', async () => {
  const without = await bundled(everyAdapter())
  const imported = `import { fromAiSdk } from './src/ai-sdk.ts'`
  const { gzip, inputs } = await bundled(everyAdapter(imported, 'fromAiSdk'))
  expect(gzip - without.gzip).toBeLessThanOrEqual(5120)
  const added = inputs.filter((path) => !without.inputs.includes(path))
  expect(added.filter((path) => !path.startsWith('src/ai-sdk/'))).toEqual([])
})

test('the bridge to OpenTelemetry adds at most 3.3 KB to a program that listens', async () => {
  const listening = `${loop}
import { onTelemetry } from './src/index.ts'
console.log(onTelemetry)
`
  const { gzip, inputs } = await bundled(`${listening}
import { otel } from './src/otel.ts'
console.log(otel)
`)
  const without = await bundled(listening)
  expect(gzip - without.gzip).toBeLessThanOrEqual(3380)
  const others = inputs.filter((path) => !without.inputs.includes(path))
  expect(others.filter((path) => !path.startsWith('src/otel/'))).toEqual([])
})

/** A program that has runs. */
const serving = `${loop}
import { Session, toView } from './src/index.ts'
import { createRuns } from './src/runs.ts'
import { memoryStore } from './src/stores.ts'
console.log(createRuns({ engine, store: memoryStore() }), Session, toView)
`

/** A program that has runs, and agents inside of them. */
const withAgents = `${serving}
import { agentTool } from './src/index.ts'
console.log(agentTool)
`

/** A program with all that tools can do. */
const withTools = `${loop}
import { askUser, content, fail, streamToolCalls } from './src/index.ts'
console.log(askUser, content, fail, streamToolCalls)
`

const wholeUi =
  'toUiMessageStream, toUiMessageResponse, toUiMessages, uiPast, fromUiMessages, uiApprovals, uiCommands, sendUiMessages, resumeUiMessages, sendWhenSettled, toAgUi, toAgUiResponse, sendAgUi'

const wholeMcp = 'connectMcp, mcpTools, serveMcp'

/** Each function alone, and the whole of a bridge. The aim is 4 KB. What needs more has its figure and a reserve here. */
test.each([
  ['ui', 'toUiMessageStream', 3850],
  ['ui', 'toUiMessageResponse', 3950],
  ['ui', 'toUiMessages', 4096],
  ['ui', 'fromUiMessages', 1650],
  ['ui', 'uiApprovals', 400],
  ['ui', 'uiCommands', 1250],
  ['ui', 'resumeUiMessages', 4300],
  // It is `uiCommands`, `resumeUiMessages` and 1.7 KB of its own.
  ['ui', 'sendUiMessages', 7700],
  // It is `uiCommands`, `toAgUiResponse`, what it shares with `sendUiMessages` and 0.8 KB for the history.
  ['ui', 'sendAgUi', 8800],
  ['ui', 'sendWhenSettled', 505],
  ['ui', 'toAgUi', 4096],
  ['ui', 'toAgUiResponse', 4096],
  ['ui', wholeUi, 12_500],
  ['mcp', 'mcpTools', 4096],
  ['mcp', 'connectMcp', 4500],
  ['mcp', 'serveMcp', 3750],
  ['mcp', wholeMcp, 7600],
] as const)('%s: the code of %s is within its byte budget', async (bridge, names, budget) => {
  const program = bridge === 'ui' ? serving : withTools
  expect(await ownBytes(program, bridge, names)).toBeLessThanOrEqual(budget)
})

test.each([
  ['ui', 'toUiMessageStream', 4000],
  ['ui', wholeUi, 13_200],
  ['mcp', 'connectMcp, mcpTools', 4600],
  ['mcp', wholeMcp, 8600],
] as const)(
  '%s: %s makes a program that has the core larger by its budget at most, and brings no file of another folder',
  async (bridge, names, budget) => {
    const program = bridge === 'ui' ? withAgents : withTools
    const without = await bundled(program)
    const { gzip, inputs } = await bundled(`${program}
import { ${names} } from './src/${bridge}.ts'
console.log(${names})
`)
    expect(gzip - without.gzip).toBeLessThanOrEqual(budget)
    const others = inputs.filter((path) => !without.inputs.includes(path))
    // What a server of MCP signs is signed as sealed sessions are.
    const shared = others.filter((path) => path !== 'src/make/seal.ts')
    expect(shared.filter((path) => !path.startsWith(`src/${bridge}/`))).toEqual([])
  },
)

/**
 * A program that has nothing but a function of a bridge, with all that it needs: its own code, and of the core the errors, the checks of
 * options and what else it uses. Each has its figure and a small reserve, and the folders that it may bring.
 */
test.each([
  ['otel', 'otel', 8000, 'core errors otel schema types'],
  ['ui', 'toUiMessageStream', 9900, 'errors run schema session types ui'],
  ['ui', 'toUiMessageResponse', 10_600, 'core errors run schema session types ui'],
  ['ui', 'toAgUi', 10_100, 'errors run schema session types ui'],
  ['ui', 'toAgUiResponse', 10_700, 'core errors run schema session types ui'],
  ['ui', 'fromUiMessages', 9200, 'errors make schema types ui'],
  // It applies commands to see whether they can be, as `createRuns` does, which every such program has.
  [
    'ui',
    'sendUiMessages',
    28_200,
    'chat contracts core errors make run runs schema session types ui',
  ],
  // Tools bring what answers their calls: 8 KB of it.
  ['mcp', 'mcpTools', 25_800, 'chat contracts core errors make mcp run schema tools types'],
  ['mcp', 'connectMcp', 26_300, 'chat contracts core errors make mcp run schema tools types'],
  ['ai-sdk', 'fromAiSdk', 25_800, 'ai-sdk core errors http make providers run schema types'],
] as const)(
  '%s: a program that has only %s is within its byte budget, and has no loop, no model call and no store',
  async (bridge, name, budget, folders) => {
    const { gzip, inputs } = await bundled(`
import { ${name} } from './src/${bridge}.ts'
console.log(${name})
`)
    expect(gzip).toBeLessThanOrEqual(budget)
    const used = inputs.flatMap((path) => /^src\/([^/]+)\//.exec(path)?.[1] ?? [])
    expect([...new Set(used)].toSorted().join(' ')).toBe(folders)
    expect(inputs).not.toContain('src/chat/loop.ts')
    expect(inputs).not.toContain('src/run/model-call.ts')
  },
)

test('a program that does not listen does not load what listens', async () => {
  const { inputs } = await bundled(loop)
  expect(inputs).not.toContain('src/core/on-telemetry.ts')
})

test('the package has no runtime dependency', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const field of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
    expect(manifest).not.toHaveProperty(field)
  }
})

test('the page of the inspector is at most 80 KB, names what it is made of, and fetches nothing from elsewhere', () => {
  const folder = mkdtempSync(join(tmpdir(), 'allm-page-'))
  try {
    execFileSync(process.execPath, [join(root, 'scripts/bundle-page.mjs'), folder])
    const files = ['page.js', 'page.css', 'index.html'].map((name) =>
      readFileSync(join(folder, name)),
    )
    const gzip = files.map((bytes) => gzipSync(bytes, { level: 9 }).length)
    expect(gzip.reduce((sum, bytes) => sum + bytes)).toBeLessThanOrEqual(80 * 1024)
    const [script = '', style = '', html = ''] = files.map(String)
    expect(script.includes('Copyright (c) 2015-present Jason Miller')).toBe(true)
    expect(/(?:^|[;}])import[ {*"'(]/.test(script)).toBe(false)
    expect(/https?:|url\(/.test(style + html)).toBe(false)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
