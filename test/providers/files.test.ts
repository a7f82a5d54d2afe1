import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
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
  textPart,
  toolResult,
  user,
  type MediaFile,
  type Message,
  type Part,
  type Warning,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../src/server.ts'
import { root } from '../support/root.ts'
import { hasOracles, loadOracle } from '../testing/server/wire/shared.ts'

type Wire = 'chat' | 'responses' | 'anthropic' | 'gemini'

const wires: readonly Wire[] = ['chat', 'responses', 'anthropic', 'gemini']

const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

const pdf = '%PDF-1.7 a report'
const wav = 'RIFF----WAVEfmt '
const mp4 = '----ftypisom'
const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** What each wire sends for a file of the user, or the end of the sentence with which it is refused. */
const files: readonly (readonly [
  string,
  MediaFile,
  Readonly<Record<Wire, JsonObject | string>>,
])[] = [
  [
    'a PDF',
    fileFromBytes(bytes(pdf), 'application/pdf', { name: 'report.pdf' }),
    {
      chat: {
        type: 'file',
        file: {
          filename: 'report.pdf',
          file_data: `data:application/pdf;base64,${base64(pdf)}`,
        },
      },
      responses: {
        type: 'input_file',
        filename: 'report.pdf',
        file_data: `data:application/pdf;base64,${base64(pdf)}`,
      },
      anthropic: {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: base64(pdf) },
        title: 'report.pdf',
      },
      gemini: { inlineData: { mimeType: 'application/pdf', data: base64(pdf) } },
    },
  ],
  [
    'a PDF at a URL',
    fileFromUrl('https://example.com/report.pdf'),
    {
      chat: 'pass its bytes, or set api: "responses"',
      responses: { type: 'input_file', file_url: 'https://example.com/report.pdf' },
      anthropic: {
        type: 'document',
        source: { type: 'url', url: 'https://example.com/report.pdf' },
      },
      gemini: {
        fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/report.pdf' },
      },
    },
  ],
  [
    'a text',
    fileFromBytes(new TextEncoder().encode('a,b\n1,ü'), 'text/csv', { name: 'table.csv' }),
    {
      chat: { type: 'text', text: 'table.csv:\n\na,b\n1,ü' },
      responses: {
        type: 'input_file',
        filename: 'table.csv',
        file_data: `data:text/csv;base64,${Buffer.from('a,b\n1,ü').toString('base64')}`,
      },
      anthropic: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'a,b\n1,ü' },
        title: 'table.csv',
      },
      gemini: {
        inlineData: {
          mimeType: 'text/csv',
          data: Buffer.from('a,b\n1,ü').toString('base64'),
        },
      },
    },
  ],
  [
    'JSON',
    fileFromBytes(bytes('{"a":1}'), 'application/json'),
    {
      chat: { type: 'text', text: '{"a":1}' },
      responses: {
        type: 'input_file',
        filename: 'file.json',
        file_data: `data:application/json;base64,${base64('{"a":1}')}`,
      },
      anthropic: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: '{"a":1}' },
      },
      gemini: { inlineData: { mimeType: 'text/plain', data: base64('{"a":1}') } },
    },
  ],
  [
    'a recording',
    fileFromBytes(bytes(wav), 'audio/wav'),
    {
      chat: { type: 'input_audio', input_audio: { data: base64(wav), format: 'wav' } },
      responses: 'api: "chat" takes wav and mp3',
      anthropic: 'documents are PDFs (also by URL), texts, and files by id',
      gemini: { inlineData: { mimeType: 'audio/wav', data: base64(wav) } },
    },
  ],
  [
    'a film',
    fileFromBytes(bytes(mp4), 'video/mp4'),
    {
      chat: 'no API of OpenAI does',
      responses: 'no API of OpenAI does',
      anthropic: 'documents are PDFs (also by URL), texts, and files by id',
      gemini: { inlineData: { mimeType: 'video/mp4', data: base64(mp4) } },
    },
  ],
  [
    'an office document',
    fileFromBytes(bytes('PK--'), docx, { name: 'letter.docx' }),
    {
      chat: 'api: "responses" takes more types',
      responses: {
        type: 'input_file',
        filename: 'letter.docx',
        file_data: `data:${docx};base64,${base64('PK--')}`,
      },
      anthropic: 'documents are PDFs (also by URL), texts, and files by id',
      gemini: 'it reads PDFs, texts, images, audio and video',
    },
  ],
  [
    'an image that came as a file',
    { type: 'base64', base64: png, mimeType: 'image/png', name: 'dot.png' },
    {
      chat: { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      responses: {
        type: 'input_image',
        image_url: `data:image/png;base64,${png}`,
        detail: 'auto',
      },
      anthropic: {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: png },
      },
      gemini: { inlineData: { mimeType: 'image/png', data: png } },
    },
  ],
]

describe('a file of the user', () => {
  test.each([
    ['letter', docx, 'letter.docx'],
    ['v1.2 notes', 'text/markdown', 'v1.2 notes.md'],
    [undefined, 'text/x-yaml', 'file.txt'],
    ['setup', 'application/yaml', 'setup.txt'],
    ['main.py', 'text/x-python', 'main.py'],
  ])(
    'OpenAI Responses tells files by the ending of their names: %s, %s',
    async (name, type, filename) => {
      const file = fileFromBytes(bytes('abcd'), type, name === undefined ? {} : { name })
      const parts = await userParts('responses', [filePart(file)])
      expect(parts).toMatchObject([{ type: 'input_file', filename }])
    },
  )

  for (const [name, file, expected] of files) {
    test.each(wires)(`${name}, for %s`, async (wire) => {
      const wanted = expected[wire]
      if (typeof wanted === 'string') {
        expect(await refusalOf(wire, [user([filePart(file)])])).toMatchObject({
          reason: 'unsupported_feature',
          message: expect.stringContaining(wanted) as string,
        })
      } else {
        expect(await userParts(wire, [textPart('Look:'), filePart(file)])).toContainEqual(wanted)
      }
    })
  }

  test.each<[Wire, JsonObject, JsonObject | string]>([
    [
      'chat',
      { type: 'file', file: { file_id: 'file-1' } },
      'Chat Completions takes no images by file id',
    ],
    [
      'responses',
      { type: 'input_file', file_id: 'file-1' },
      { type: 'input_image', file_id: 'file-1', detail: 'auto' },
    ],
    [
      'anthropic',
      { type: 'document', source: { type: 'file', file_id: 'file-1' } },
      { type: 'image', source: { type: 'file', file_id: 'file-1' } },
    ],
    [
      'gemini',
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/file-1' } },
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/file-1' } },
    ],
  ])('is named by its id at %s, and so is an image', async (wire, file, image) => {
    const provider = wire === 'chat' || wire === 'responses' ? 'openai' : wire
    expect(await userParts(wire, [filePart(fileFromId('file-1', provider))])).toContainEqual(file)
    const asking = imagePart(imageFromId('file-1', provider))
    if (typeof image === 'string') {
      expect(await refusalOf(wire, [user([asking])])).toMatchObject({
        reason: 'unsupported_feature',
        message: expect.stringContaining(image) as string,
      })
    } else expect(await userParts(wire, [asking])).toContainEqual(image)
  })
})

test.each(wires)('a file that is refused is named by its place, for %s', async (wire) => {
  const film = filePart(fileFromBytes(bytes('PK--'), 'application/x-own'))
  const known = filePart(fileFromBytes(bytes(pdf), 'application/pdf'))
  const refused = await refusalOf(wire, [
    user('Look:'),
    user([known, wire === 'responses' ? filePart(fileFromBytes(bytes(wav), 'audio/wav')) : film]),
  ])
  expect(refused).toMatchObject({
    reason: 'unsupported_feature',
    message: expect.stringMatching(/^messages\[1\]\.content\[1\]: \w+ does not take /) as string,
  })
})

test('Gemini has no place for the name of a file, and no words are sent that the caller did not write', async () => {
  const file = fileFromBytes(bytes(pdf), 'application/pdf', { name: 'report.pdf' })
  expect(await userParts('gemini', [textPart('Look:'), filePart(file)])).toEqual([
    { text: 'Look:' },
    { inlineData: { mimeType: 'application/pdf', data: base64(pdf) } },
  ])
})

test('the guide has the table of what each API is sent (UPDATE_DOCS=1 writes it)', () => {
  const guide = join(root, 'docs/guides/08-images-and-vision.md')
  const text = readFileSync(guide, 'utf8')
  const written = text.replace(
    /(<!-- files:start -->)[^]*(<!-- files:end -->)/,
    (_, start: string, end: string) => `${start}\n\n${fileTable()}\n\n${end}`,
  )
  if (process.env['UPDATE_DOCS'] !== undefined) writeFileSync(guide, written)
  expect(squeezed(text)).toBe(squeezed(written))
})

/** The rows of `files` as a table. */
function fileTable(): string {
  const rows = files.map(([name, , byWire]) => [name, ...wires.map((wire) => sentAs(byWire[wire]))])
  const heads = ['', 'Chat Completions', 'Responses', 'Anthropic', 'Gemini']
  return [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function sentAs(rendered: JsonObject | string): string {
  if (typeof rendered === 'string') return 'no'
  const { type } = rendered
  const [first = ''] = Object.keys(rendered)
  return `\`${typeof type === 'string' ? type : first}\``
}

/** Without the padding of the formatter. */
function squeezed(text: string): string {
  return text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
}

describe('a tool result with an image and files', () => {
  const calls = [
    { id: 'c1', name: 'scan', arguments: {} },
    { id: 'c2', name: 'scan', arguments: {} },
  ]
  const thread = [
    user('Scan it.'),
    assistant('', { toolCalls: calls }),
    toolResult('c1', [
      textPart('Page 1'),
      imagePart(imageFromBase64(png)),
      filePart(fileFromBytes(bytes(pdf), 'application/pdf')),
      imagePart(imageFromUrl('https://example.com/a.png')),
    ]),
    toolResult('c2', [imagePart(imageFromBase64(png))]),
    user('Well?'),
  ]
  const dataUri = `data:image/png;base64,${png}`
  const pdfUri = `data:application/pdf;base64,${base64(pdf)}`

  test('follow the results in a message of the user, for Chat Completions', async () => {
    const { messages } = (await sent('chat', thread)) as { messages: JsonObject[] }
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'Page 1' },
      {
        role: 'tool',
        tool_call_id: 'c2',
        content: 'The result is in the next message of the user.',
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Attached to the result of the tool call c1:' },
          { type: 'image_url', image_url: { url: dataUri } },
          { type: 'file', file: { filename: 'file.pdf', file_data: pdfUri } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'text', text: 'Attached to the result of the tool call c2:' },
          { type: 'image_url', image_url: { url: dataUri } },
        ],
      },
      { role: 'user', content: 'Well?' },
    ])
    const end = (await sent('chat', thread.slice(0, -1))) as { messages: JsonObject[] }
    expect(end.messages.at(-1)).toEqual(messages.at(-2))
  })

  test('are text in the result of Chat Completions, if they are texts', async () => {
    const notes = fileFromBytes(bytes('a,b'), 'text/csv', { name: 'a.csv' })
    const result = toolResult('c1', [textPart('Here:'), filePart(notes)])
    const asked = [user('hi'), assistant('', { toolCalls: calls.slice(0, 1) }), result]
    const { messages } = (await sent('chat', asked)) as { messages: JsonObject[] }
    expect(messages.at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'c1',
      content: 'Here:\na.csv:\n\na,b\n',
    })
  })

  test('are in the output, for Responses', async () => {
    const { input } = (await sent('responses', thread)) as { input: JsonObject[] }
    expect(input.filter(({ type }) => type === 'function_call_output')).toEqual([
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'Page 1' },
          { type: 'input_image', image_url: dataUri, detail: 'auto' },
          { type: 'input_file', filename: 'file.pdf', file_data: pdfUri },
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
        ],
      },
      {
        type: 'function_call_output',
        call_id: 'c2',
        output: [{ type: 'input_image', image_url: dataUri, detail: 'auto' }],
      },
    ])
  })

  test('are blocks of the result, for Anthropic', async () => {
    const { messages } = (await sent('anthropic', thread)) as { messages: JsonObject[] }
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
    expect(messages.at(-1)?.['content']).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'c1',
        content: [
          { type: 'text', text: 'Page 1' },
          image,
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: base64(pdf) },
          },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        ],
      },
      { type: 'tool_result', tool_use_id: 'c2', content: [image] },
      { type: 'text', text: 'Well?' },
    ])
  })

  const image = { inlineData: { mimeType: 'image/png', data: png } }
  const document = { inlineData: { mimeType: 'application/pdf', data: base64(pdf) } }
  const remote = { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } }
  const answer = (id: string, output: string) => ({ id, name: 'scan', response: { output } })

  test('are parts of the result for Gemini 3, except what it would have to fetch', async () => {
    const { contents } = (await sent('gemini', thread, 'gemini-3-flash')) as {
      contents: JsonObject[]
    }
    expect(contents.at(-1)?.['parts']).toEqual([
      { functionResponse: { ...answer('c1', 'Page 1'), parts: [image, document] } },
      remote,
      { functionResponse: { ...answer('c2', ''), parts: [image] } },
      { text: 'Well?' },
    ])
  })

  test('stand beside the results for older Gemini models', async () => {
    const { contents } = (await sent('gemini', thread, 'gemini-2.5-flash')) as {
      contents: JsonObject[]
    }
    expect(contents.at(-1)?.['parts']).toEqual([
      { functionResponse: answer('c1', 'Page 1') },
      image,
      document,
      remote,
      { functionResponse: answer('c2', 'The result follows.') },
      image,
      { text: 'Well?' },
    ])
  })
})

test('a document has the settings of its part, for Anthropic', async () => {
  const providerOptions = { anthropic: { citations: { enabled: true }, title: 'Q3' } }
  const file = filePart(fileFromUrl('https://example.com/report.pdf'), { providerOptions })
  expect(await userParts('anthropic', [file])).toEqual([
    {
      type: 'document',
      source: { type: 'url', url: 'https://example.com/report.pdf' },
      citations: { enabled: true },
      title: 'Q3',
    },
  ])
})

test.each(wires)(
  'a file in an answer of the assistant does not stop a thread, for %s',
  async (wire) => {
    const file = filePart(fileFromBytes(bytes(pdf), 'application/pdf'))
    await sent(wire, [user('hi'), assistant([textPart('Here:'), file]), user('Thanks.')])
  },
)

describe('a recording in an answer of the assistant', () => {
  const file = filePart(fileFromBytes(bytes(wav), 'audio/wav'))
  const png64 = { type: 'base64', base64: png, mimeType: 'image/png' } as const
  const said = (parts: readonly Part[]): readonly Message[] => [
    user('hi'),
    assistant(parts),
    user('Thanks.'),
  ]
  const setting = 'messages[1].content[1]'

  test.each<[Wire, readonly unknown[]]>([
    ['chat', [{ role: 'assistant', content: 'Door' }]],
    ['responses', [{ type: 'message', role: 'assistant', content: 'Door' }]],
    ['anthropic', [{ role: 'assistant', content: 'Door' }]],
  ])('is left out with a warning, for %s', async (wire, turns) => {
    const { body, warnings } = await answered(wire, said([textPart('Door'), file]))
    expect((body['messages'] ?? body['input']) as unknown).toEqual([
      expect.objectContaining({ role: 'user' }),
      ...turns,
      expect.objectContaining({ role: 'user' }),
    ])
    expect(warnings).toEqual([{ setting, problem: expect.stringContaining('does not take') }])
  })

  test('is sent to Gemini, which takes it', async () => {
    const { body, warnings } = await answered('gemini', said([textPart('Door'), file]))
    expect(body['contents']).toContainEqual({
      role: 'model',
      parts: [{ text: 'Door' }, { inlineData: { mimeType: 'audio/wav', data: base64(wav) } }],
    })
    expect(warnings).toEqual([])
  })

  test.each(wires)('alone says no words that were never said, for %s', async (wire) => {
    for (const part of [file, { type: 'image', image: png64 } as const]) {
      const { body } = await answered(wire, said([part]))
      expect(JSON.stringify(body)).not.toMatch(/\[(?:file|image)\]/)
    }
  })

  test('is counted as the caller counts, and every one has its warning', async () => {
    const messages = said([textPart('Door'), file, textPart('!'), file])
    const { warnings } = await answered('anthropic', messages, { instructions: 'Be brief.' })
    expect(warnings.map((warning) => warning.setting)).toEqual([setting, 'messages[1].content[3]'])
  })

  test('is refused where the user has it', async () => {
    const messages = [...said([textPart('Door'), file]), user([textPart('Write it down.'), file])]
    expect(await refusalOf('anthropic', messages)).toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringMatching(/^messages\[3\]\.content\[1\]: /),
    })
  })

  test('may be larger than the API takes', async () => {
    const large = fileFromBytes(Buffer.alloc(51 * 1024 * 1024, wav), 'audio/wav')
    const { warnings } = await answered('chat', said([textPart('Door'), filePart(large)]))
    expect(warnings).toHaveLength(1)
  })
})

/** The parts of a user's message, as they are sent. */
async function userParts(wire: Wire, parts: readonly Part[]): Promise<unknown> {
  const body = await sent(wire, [user(parts)])
  const [turn] = (body['messages'] ?? body['input'] ?? body['contents']) as readonly JsonObject[]
  return turn?.['content'] ?? turn?.['parts']
}

const models: Readonly<Record<Wire, string>> = {
  chat: 'gpt-4o',
  responses: 'gpt-5-mini',
  anthropic: 'claude-sonnet-4-5',
  gemini: 'gemini-3-flash-preview',
}

const kinds: Readonly<Record<Wire, string>> = {
  chat: 'openai.chat.request',
  responses: 'openai.responses.request',
  anthropic: 'anthropic.messages.request',
  gemini: 'gemini.generate.request',
}

/** What the fake server was sent; it refuses what the API refuses. With the descriptions of the APIs, it is held against them too. */
async function sent(
  wire: Wire,
  messages: readonly Message[],
  model: string = models[wire],
): Promise<JsonObject> {
  return (await answered(wire, messages, { model })).body
}

/** What is sent, and what the response warns of. */
async function answered(
  wire: Wire,
  messages: readonly Message[],
  options: { readonly model?: string; readonly instructions?: string } = {},
): Promise<{ readonly body: JsonObject; readonly warnings: readonly Warning[] }> {
  await using server = await createFakeServer({ script: [['text', 'ok']] })
  const engine = createEngine({ adapter: adapterFor(wire, server), model: models[wire] })
  const { warnings } = await generate(engine, messages, options)
  // The server has parsed it as a JSON object.
  const body = server.requests[0]?.body as JsonObject
  if (hasOracles) {
    const validate = await loadOracle('default', true)
    expect(validate(kinds[wire], body)).toEqual([])
  }
  return { body, warnings }
}

async function refusalOf(wire: Wire, messages: readonly Message[]): Promise<unknown> {
  await using server = await createFakeServer({ script: [['text', 'never']] })
  const engine = createEngine({ adapter: adapterFor(wire, server), model: models[wire] })
  const error: unknown = await generate(engine, messages).catch((thrown: unknown) => thrown)
  expect(server.requests).toEqual([])
  return isAllmError(error) ? error.toJSON() : error
}

function adapterFor(wire: Wire, server: FakeServer): ReturnType<typeof openai> {
  const apiKey = 'k'
  if (wire === 'anthropic') return anthropic({ apiKey, baseUrl: server.anthropicBaseUrl })
  if (wire === 'gemini') return gemini({ apiKey, baseUrl: server.geminiBaseUrl })
  return openai({ apiKey, api: wire, baseUrl: server.openaiBaseUrl })
}
