import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { root } from '../support/root.ts'
import { bundled, inOneFile, split } from './program.ts'

/**
 * What a program with an entry point may cost, minified and compressed, in bytes: the goal and 5 % of slack. A budget decides what an
 * entry point imports. It never decides how code is written.
 */
const budgets = {
  oneApi: withSlack(50_200),
  /** By one API of OpenAI. */
  loop: withSlack(70_500),
  /** With both APIs of OpenAI. */
  loopOfBoth: withSlack(73_500),
  /** One API and what its platform needs, in one file. */
  onPlatform: withSlack(53_000),
  three: withSlack(72_000),
  client: withSlack(4200),
  /** What the whole entry point adds to a program that has runs, agents and tools. */
  ui: withSlack(14_500),
  mcp: withSlack(7500),
  otel: withSlack(3300),
  'ai-sdk': withSlack(5500),
}

function withSlack(goal: number): number {
  return goal * 1.05
}

/** Streams text by one adapter. */
const streaming = (adapter: string, provider: string = adapter): string => `
import { createEngine, streamGenerate, user } from './src/index.ts'
import { ${adapter} } from './src/${provider}.ts'
const engine = createEngine({ adapter: ${adapter}(), model: 'gpt-5' })
for await (const event of streamGenerate(engine, [user('hi')])) console.log(event)
`

const openai = streaming('openai')

const three = `${openai}
import { anthropic } from './src/anthropic.ts'
import { gemini } from './src/gemini.ts'
console.log(anthropic(), gemini())
`

/** A loop with a tool. */
const looping = (adapter: string): string => `
import { chat, createEngine, tool, user } from './src/index.ts'
import { ${adapter} } from './src/openai.ts'
const weather = tool({ name: 'weather', description: 'The weather.', schema: {}, handler: () => 'sun' })
const engine = createEngine({ adapter: ${adapter}(), model: 'gpt-5', tools: [weather] })
console.log(await chat(engine, [user('hi')]))
`

const loop = looping('openai')

/** What a program which only streams text does not use. */
const unused = /^src\/(?:testing|durable|models|engine\/(?:session|chat|tools))\//

test.each([
  ['openaiChat', 'openai'],
  ['openaiResponses', 'openai'],
  ['anthropic', 'anthropic'],
  ['gemini', 'gemini'],
])('streaming text by %s: the cost of one API, and no loop', async (adapter, provider) => {
  const { gzip, inputs } = await bundled(streaming(adapter, provider))
  expect(gzip).toBeLessThanOrEqual(budgets.oneApi)
  expect(inputs.filter((path) => unused.test(path))).toEqual([])
})

test.each([
  ['openaiChat', 'responses'],
  ['openaiResponses', 'chat'],
])('%s brings no code of the other API', async (adapter, other) => {
  const { inputs } = await bundled(streaming(adapter, 'openai'))
  expect(inputs.filter((path) => path.endsWith(`-${other}.ts`))).toEqual([])
})

test('all three providers', async () => {
  expect((await bundled(three)).gzip).toBeLessThanOrEqual(budgets.three)
})

/** The names of the files that only a platform needs. */
const ofPlatforms = (inputs: readonly string[]): readonly string[] =>
  inputs
    .map((path) => basename(path))
    .filter((name) => /^(?:vertex|bedrock|event-stream)/.test(name))
    .toSorted()

test('what Claude needs on a platform is loaded when a word asks for it: at most 3.5 KB, and no file that is there already', async () => {
  const { start, later } = await split(three)
  expect(later.map(({ inputs }) => inputs.map((path) => basename(path)))).toEqual([
    ['event-stream.ts', 'platform-call.ts', 'bedrock-call.ts', 'vertex-call.ts'],
  ])
  expect(later[0]?.gzip).toBeLessThanOrEqual(3500)
  expect(ofPlatforms(start.inputs)).toEqual([])
  // A bundler that does not split puts it into the program.
  expect(await inOneFile(three)).toBeLessThanOrEqual(77_500)
})

test.each([
  ['anthropicBedrock', 'anthropic', ['bedrock-call.ts', 'bedrock.ts', 'event-stream.ts']],
  ['anthropicVertex', 'anthropic', ['vertex-call.ts', 'vertex.ts']],
  ['geminiVertex', 'gemini', []],
])(
  '%s brings the code of its platform when it starts, and none of another',
  async (adapter, provider, own) => {
    const program = streaming(adapter, provider)
    const { inputs } = await bundled(program)
    expect(ofPlatforms(inputs)).toEqual(own)
    expect(inputs).not.toContain('src/providers/anthropic/anthropic.ts')
    expect(await inOneFile(program)).toBeLessThanOrEqual(budgets.onPlatform)
  },
)

test('a program with OpenAI alone has nothing of the platforms, also in one file', async () => {
  const { start, later } = await split(openai)
  expect(later).toEqual([])
  expect(start.inputs.filter((path) => path.includes('platform'))).toEqual([])
  expect(ofPlatforms(start.inputs)).toEqual([])
  expect(await inOneFile(openai)).toBe(start.gzip)
})

test.each([
  ['openaiChat', budgets.loop],
  ['openai', budgets.loopOfBoth],
])('a loop with a tool, by %s', async (adapter, budget) => {
  const { gzip, inputs } = await bundled(looping(adapter))
  expect(gzip).toBeLessThanOrEqual(budget)
  expect(inputs.filter((path) => path.startsWith('src/engine/session/'))).toEqual([])
})

test('reading a saved session by allm-ts/session is less than 11.5 kB, and brings no loop', async () => {
  const { gzip, inputs } = await bundled(`
import * as Session from './src/session.ts'
console.log(Session.parse('{}'))
`)
  expect(gzip).toBeLessThan(11_500)
  const own = /^src\/engine\/(?:calls|session\/(?:saved|form-2))/
  expect(inputs.filter((path) => path.startsWith('src/engine/') && !own.test(path))).toEqual([])
})

test('the client for pages has nothing but itself', async () => {
  const { gzip, inputs } = await bundled(`
import { connectRun } from './src/client.ts'
console.log(connectRun({ url: '/runs/ada' }).state)
`)
  expect(gzip).toBeLessThanOrEqual(budgets.client)
  const others = inputs.filter(
    (path) => !path.startsWith('src/durable/client/') && path !== '<stdin>',
  )
  expect(others).toEqual([])
})

/** A program that has nearly all of the core: every provider, what authors of adapters get, tools, runs and agents. */
const everything = `${loop}
import * as library from './src/index.ts'
import * as kit from './src/adapter.ts'
import { anthropic } from './src/anthropic.ts'
import { gemini } from './src/gemini.ts'
import { createRuns } from './src/runs.ts'
import { memoryStore } from './src/stores.ts'
console.log(library, kit, anthropic(), gemini(), createRuns({ engine, store: memoryStore() }))
`

describe.each(['ui', 'mcp', 'otel', 'ai-sdk'] as const)('allm-ts/%s', (bridge) => {
  test('adds its own code and at most its budget to a program that has the core', async () => {
    const without = await bundled(everything)
    const { gzip, inputs } = await bundled(`${everything}
import * as bridge from './src/${bridge}.ts'
console.log(bridge)
`)
    expect(gzip - without.gzip).toBeLessThanOrEqual(budgets[bridge])
    const added = inputs.filter((path) => !without.inputs.includes(path))
    const own = [`src/${bridge}.ts`, `src/bridges/${bridge}/`]
    expect(added.filter((path) => !own.some((start) => path.startsWith(start)))).toEqual([])
  })
})

/** The floors that a program with nothing but a function of a bridge brings. */
test.each([
  ['otel', 'otel', 'bridges core'],
  ['ui', 'toUiMessageStream', 'bridges core engine'],
  ['ui', 'toUiMessageResponse', 'bridges core engine'],
  ['ui', 'toAgUi', 'bridges core engine'],
  ['ui', 'toAgUiResponse', 'bridges core engine'],
  ['ui', 'fromUiMessages', 'bridges core'],
  // It applies commands to see whether they can be, as `createRuns` does, which every such program has.
  ['ui', 'sendUiMessages', 'bridges core durable engine'],
  ['mcp', 'mcpTools', 'bridges core engine'],
  ['mcp', 'connectMcp', 'bridges core engine'],
  ['ai-sdk', 'fromAiSdk', 'bridges core providers'],
])(
  '%s: a program that has only %s has no loop, no model call and no store',
  async (bridge, name, floors) => {
    const { inputs } = await bundled(`
import { ${name} } from './src/${bridge}.ts'
console.log(${name})
`)
    const used = inputs.flatMap((path) => /^src\/([^/]+)\//.exec(path)?.[1] ?? [])
    expect([...new Set(used)].toSorted().join(' ')).toBe(floors)
    expect(inputs).not.toContain('src/engine/chat/loop.ts')
    expect(inputs).not.toContain('src/engine/model-call/model-call.ts')
  },
)

test('a program that does not listen does not load what listens', async () => {
  const { inputs } = await bundled(loop)
  expect(inputs).not.toContain('src/core/base/on-telemetry.ts')
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
