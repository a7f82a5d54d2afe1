import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { isObject } from '../../src/core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  assistant,
  createEngine,
  fileFromBytes,
  fileFromId,
  fileFromUrl,
  filePart,
  generate,
  imageFromBase64,
  imageFromId,
  imageFromUrl,
  imagePart,
  isAllmError,
  jsonSchema,
  providerItem,
  tool,
  toolResult,
  user,
  type CallOptions,
  type ChatAdapter,
  type Message,
  type Part,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer, type FakeServer, type WireFormat } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'
import { root } from '../support/root.ts'
import { hasOracles, loadOracle, requestKinds } from '../testing/server/wire/shared.ts'

/** A column: an API and its models. `plain` is not asked to reason, `reasoning` is; `older` has no structured output beside tools, where there is such a model. */
interface Column {
  readonly title: string
  readonly format: WireFormat
  readonly provider: 'openai' | 'anthropic' | 'gemini'
  readonly plain: string
  readonly reasoning: string
  readonly older: string
  readonly adapter: (server: FakeServer) => ChatAdapter
}

const apiKey = 'k'
const columns: readonly Column[] = [
  {
    title: 'OpenAI Chat',
    format: 'openai_chat',
    provider: 'openai',
    plain: 'gpt-4o',
    reasoning: 'gpt-5-mini',
    older: 'gpt-4o',
    adapter: ({ openaiBaseUrl }) => openai({ apiKey, baseUrl: openaiBaseUrl, api: 'chat' }),
  },
  {
    title: 'OpenAI Responses',
    format: 'openai_responses',
    provider: 'openai',
    plain: 'gpt-4o',
    reasoning: 'gpt-5-mini',
    older: 'gpt-4o',
    adapter: ({ openaiBaseUrl }) => openai({ apiKey, baseUrl: openaiBaseUrl, api: 'responses' }),
  },
  {
    title: 'Anthropic',
    format: 'anthropic',
    provider: 'anthropic',
    plain: 'claude-sonnet-4-6',
    reasoning: 'claude-sonnet-4-6',
    older: 'claude-sonnet-4-0',
    adapter: ({ anthropicBaseUrl }) => anthropic({ apiKey, baseUrl: anthropicBaseUrl }),
  },
  {
    title: 'Gemini',
    format: 'gemini',
    provider: 'gemini',
    plain: 'gemini-3-flash-preview',
    reasoning: 'gemini-2.5-flash',
    older: 'gemini-2.5-flash',
    adapter: ({ geminiBaseUrl }) => gemini({ apiKey, baseUrl: geminiBaseUrl }),
  },
]

/** What is asked of an API: messages and options. */
interface Ask {
  readonly messages?: readonly Message[]
  readonly options?: CallOptions
}

type Mode = 'plain' | 'reasoning' | 'older'

type Cell = (column: Column) => Promise<string>

type Row = readonly [string, Cell]

const schema: JsonObject = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
}
const find = tool({ name: 'find', description: 'Finds.', schema })
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const pdf = filePart(fileFromBytes(bytes('%PDF-1.7'), 'application/pdf'))
const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const effort = { reasoning: { effort: 'high' } } as const

const besideTools: Ask = { options: { tools: [find] } }
const strictTools: Ask = { options: { tools: [{ ...find, strict: true }] } }
const formatted: Ask = { options: { responseFormat: jsonSchema('n', schema) } }
const formattedBesideTools: Ask = { options: { ...besideTools.options, ...formatted.options } }

/** The settings that are a field of a request. */
const settings: readonly Row[] = [
  setting('temperature', { temperature: 0.5 }),
  setting('topP', { topP: 0.5 }),
  setting('topK', { topK: 40 }),
  setting('maxTokens', { maxTokens: 5000 }),
  setting('stopSequences', { stopSequences: ['END'] }),
  setting('seed', { seed: 7 }),
  setting('presencePenalty', { presencePenalty: 1 }),
  setting('frequencyPenalty', { frequencyPenalty: 1 }),
  setting('parallelToolCalls', { parallelToolCalls: false, tools: [find] }, { tools: [find] }),
]

/** The rows, each with the way in which a cell is found out. Neighbours with equal cells become one row. */
const rows: readonly Row[] = [
  ...settings,
  ['`reasoning`', fields({ options: effort }, 'reasoning')],
  ['`promptCache`', fields({ options: { promptCache: { key: 'k', retention: 'long' } } })],
  ['images: bytes', part(() => imagePart(imageFromBase64(png)))],
  ['images: URL', part(() => imagePart(imageFromUrl('https://example.com/a.png')))],
  ['images: id', part(({ provider }) => imagePart(imageFromId('file-1', provider)))],
  ['files: PDF', part(() => pdf)],
  ['files: text', part(() => filePart(fileFromBytes(bytes('a,b'), 'text/csv')))],
  ['files: id', part(({ provider }) => filePart(fileFromId('file-1', provider)))],
  ['files: PDF at a URL', part(() => filePart(fileFromUrl('https://example.com/a.pdf')))],
  ['files: office documents', part(() => filePart(fileFromBytes(bytes('PK--'), docx)))],
  ['files: audio (wav)', part(() => filePart(fileFromBytes(bytes('RIFF----WAVE'), 'audio/wav')))],
  ['files: video', part(() => filePart(fileFromBytes(bytes('----ftypisom'), 'video/mp4')))],
  ['images and files in tool results', inToolResult],
  ['structured output, strict', fields(formatted)],
  ['the same beside tools', fields(formattedBesideTools, 'plain', besideTools)],
  ['the same with an older model', fields(formattedBesideTools, 'older', besideTools)],
  ['strict tools', fields(strictTools, 'plain', besideTools)],
  ['hosted tools, by `providerOptions`', hostedTools],
  ['items of hosted tools, kept and sent back', itemsBack],
  ['sources of an answer', sourcesOf],
  ['reasoning, kept and sent back', reasoningBack],
]

test.each<[string, string, readonly Row[]]>([
  ['what each API takes', 'README.md', rows],
  ['the settings', 'docs/guides/01-getting-started.md', settings],
])(
  'the table of %s is in %s (UPDATE_DOCS=1 writes it)',
  async (_what, path, all) => {
    const page = join(root, path)
    const table = await tableOf(all)
    const written = readFileSync(page, 'utf8').replace(
      /(<!-- takes:start -->)[^]*(<!-- takes:end -->)/,
      (_, start: string, end: string) => `${start}\n\n${table}\n\n${end}`,
    )
    expect(written).toContain(table)
    if (process.env['UPDATE_DOCS'] !== undefined) writeFileSync(page, written)
    expect(squeezed(readFileSync(page, 'utf8'))).toBe(squeezed(written))
  },
  120_000,
)

async function tableOf(all: readonly Row[]): Promise<string> {
  const lines: { name: string; cells: readonly string[] }[] = []
  for (const [name, cell] of all) {
    const cells: string[] = []
    for (const column of columns) cells.push(await cell(column))
    const last = lines.at(-1)
    if (last !== undefined && isSame(last, name, cells))
      last.name += `, ${name.replace(/^.*: /, '')}`
    else lines.push({ name, cells })
  }
  const heads = ['', ...columns.map(({ title }) => title)]
  const body = lines.map(({ name, cells }) => [name, ...cells])
  const table = [heads, heads.map(() => '---'), ...body].map((row) => `| ${row.join(' | ')} |`)
  const models = columns.flatMap(({ plain, reasoning, older }) => [plain, reasoning, older])
  const named = [...new Set(models)].map((model) => `\`${model}\``).join(', ')
  return [...table, '', `The models of these requests: ${named}.`].join('\n')
}

/** Whether two neighbours are said in one row: of the same group (settings, images, files), with equal cells. */
function isSame(
  last: { readonly name: string; readonly cells: readonly string[] },
  name: string,
  cells: readonly string[],
): boolean {
  const group = (of: string): string => /^(\w+): |^`/.exec(of)?.[0] ?? of
  return group(last.name) === group(name) && last.cells.join('|') === cells.join('|')
}

/** Without the padding of the formatter. */
function squeezed(text: string): string {
  return text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
}

/** A setting: taken if the body differs with it, left out if the response warns of it. */
function setting(name: string, options: CallOptions, base: CallOptions = {}): [string, Cell] {
  const taken = async (column: Column, mode: Mode): Promise<boolean> => {
    const also = mode === 'reasoning' ? effort : {}
    const { body, warned } = await sent(column, { options: { ...options, ...also } }, mode)
    const without = await sent(column, { options: { ...base, ...also } }, mode)
    const isSent = changed(without.body, body).length > 0
    expect(warned.includes(name), `${column.title} ${mode}: sent, or a warning`).toBe(!isSent)
    return isSent
  }
  return [
    `\`${name}\``,
    async (column) => {
      if (!(await taken(column, 'plain'))) return 'no'
      return (await taken(column, 'reasoning')) ? 'yes' : 'not while it reasons'
    },
  ]
}

/** The fields of the body that say it. */
function fields(ask: Ask, mode: Mode = 'plain', base: Ask = {}): Cell {
  return async (column) => {
    const { body } = await sent(column, ask, mode)
    const names = changed((await sent(column, base, mode)).body, body)
    return names.length === 0 ? 'nothing to set' : names.map((name) => `\`${name}\``).join(', ')
  }
}

/** A part of the user: sent, or refused before anything is sent. */
function part(make: (column: Column) => Part): Cell {
  return async (column) => yesOrRefused(column, { messages: [user([make(column)])] })
}

function inToolResult(column: Column): Promise<string> {
  return yesOrRefused(column, {
    messages: [
      user('Scan it.'),
      assistant('', { toolCalls: [{ id: 'c1', name: 'find', arguments: {} }] }),
      toolResult('c1', [imagePart(imageFromBase64(png)), pdf]),
    ],
    options: { tools: [find] },
  })
}

async function yesOrRefused(column: Column, ask: Ask): Promise<string> {
  try {
    await sent(column, ask)
    return 'yes'
  } catch (error) {
    if (!isAllmError(error)) throw error
    expect(error).toMatchObject({ reason: 'unsupported_feature' })
    return 'no'
  }
}

const hosted: Readonly<Record<WireFormat, JsonObject>> = {
  openai_chat: { web_search_options: {} },
  openai_responses: { tools: [{ type: 'web_search' }] },
  anthropic: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  gemini: { tools: [{ googleSearch: {} }] },
}

async function hostedTools(column: Column): Promise<string> {
  const given = hosted[column.format]
  const options: CallOptions = { providerOptions: { [column.provider]: given } }
  const { body } = await sent(column, { options })
  expect(body).toMatchObject(given)
  return Object.keys(given)
    .map((name) => `\`${name}\``)
    .join(', ')
}

const searched: JsonObject = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type: 'search', query: 'x' },
}

const items: Readonly<Record<WireFormat, readonly JsonObject[]>> = {
  openai_chat: [searched],
  openai_responses: [searched],
  anthropic: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
  ],
  gemini: [{ executableCode: { language: 'PYTHON', code: 'print(1)' } }],
}

/** Whether an item arrives as a part of the answer, and is in the body of the next call. */
async function itemsBack(column: Column): Promise<string> {
  const own = items[column.format]
  const content = [
    ...own.map((item) => providerItem(column.provider, item)),
    { type: 'text' as const, text: 'Found.' },
  ]
  const { answer } = await sent(column, {}, 'plain', [
    ['ok', { message: { role: 'assistant', content } }],
  ])
  const arrived = JSON.stringify(answer).includes('provider_item')
  const next = await sent(column, { messages: [user('x'), assistant(content), user('And?')] })
  const back = own.every((item) =>
    JSON.stringify(next.body).includes(JSON.stringify(item).slice(1, -1)),
  )
  expect(arrived).toBe(back)
  return back ? 'yes' : 'no'
}

/** Which kinds of sources arrive. */
async function sourcesOf(column: Column): Promise<string> {
  const places = { start: 0, end: 5 }
  const sources = [
    { type: 'url' as const, url: 'https://example.com/a', title: 'A', ...places },
    { type: 'file' as const, title: 'a.pdf', ...places },
  ]
  const { answer } = await sent(column, {}, 'plain', [
    ['ok', { message: { role: 'assistant', content: 'Paris is big.', sources } }],
  ])
  const types = new Set(answer.sources?.map(({ type }) => type))
  const words = [types.has('url') ? ['pages'] : [], types.has('file') ? ['files'] : []].flat()
  return words.length === 0 ? 'no' : words.join(', ')
}

const opaque: Readonly<Record<WireFormat, JsonValue>> = {
  openai_chat: { field: 'reasoning_content' },
  openai_responses: { id: 'rs_1', encrypted_content: 'gAAA' },
  anthropic: { signature: 'EqQB' },
  gemini: 'Cpc=',
}

/** Whether the reasoning of an answer is in the next call, with the data that only the provider reads. */
async function reasoningBack(column: Column): Promise<string> {
  const script: Script = [
    ['reasoning', 'Let me see.', { opaque: opaque[column.format] }],
    ['text', '42'],
  ]
  const { answer } = await sent(column, { options: effort }, 'reasoning', script)
  const messages = [user('x'), answer, user('And?')]
  const { body } = await sent(column, { messages, options: effort }, 'reasoning')
  expect(JSON.stringify(answer)).toContain('Let me see.')
  return JSON.stringify(body).includes('Let me see.') ? 'yes' : 'only kept'
}

/** What the fake server was sent, the settings that were left out, and the answer. With the descriptions of the APIs, the body is held against them. */
async function sent(
  column: Column,
  { messages = [user('hi')], options = {} }: Ask,
  mode: Mode = 'plain',
  script: Script = [['text', '{"n":1}']],
): Promise<{
  readonly body: JsonObject
  readonly warned: readonly string[]
  readonly answer: Message
}> {
  await using server = await createFakeServer({ script })
  const engine = createEngine({ adapter: column.adapter(server), model: column[mode] })
  const { warnings, message } = await generate(engine, messages, options)
  const [request] = server.requests
  // The server has parsed it as a JSON object.
  const body = request?.body as JsonObject
  if (hasOracles) {
    const validate = await loadOracle('default', true)
    expect(validate(requestKinds[column.format], body), JSON.stringify(body)).toEqual([])
  }
  return { body, warned: warnings.map((warning) => warning.setting), answer: message }
}

/** Fields of a body that hold several settings. */
const holders: ReadonlySet<string> = new Set([
  'generationConfig',
  'output_config',
  'reasoning',
  'text',
])

/** The paths that differ, each as short as it can be said; the items of a list have its path. */
function changed(before: JsonValue | undefined, after: JsonValue, path: string = ''): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  const old = before ?? (holders.has(path) ? {} : undefined)
  const isList = Array.isArray(after) && Array.isArray(old) && after.length === old.length
  if (!isList && !(isObject(after) && isObject(old))) return [path]
  const known = old as Readonly<Record<string, JsonValue>>
  const names = Object.entries(after).flatMap(([key, value]) =>
    changed(known[key], value, isList ? path : path === '' ? key : `${path}.${key}`),
  )
  return [...new Set(names)]
}
