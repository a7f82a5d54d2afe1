import { describe, expect, test } from 'vitest'
import { outcomeBrand } from '../../../src/core/contracts/tool.ts'
import {
  chat,
  content,
  createEngine,
  fileFromBytes,
  filePart,
  halt,
  imageFromBase64,
  imagePart,
  runToolCalls,
  Session,
  streamChat,
  textPart,
  tool,
  user,
  type Tool,
} from '../../../src/index.ts'
import { crashAtEveryEvent, fake } from '../../../src/testing.ts'

const parts = [
  textPart('Page 1'),
  imagePart(imageFromBase64('iVBORw0KGgo=', 'image/png')),
  filePart(fileFromBytes(new TextEncoder().encode('%PDF-1.7'), 'application/pdf')),
]

const scan = (handler: () => unknown): Tool =>
  tool({ name: 'scan', description: 'Scans a page.', schema: { type: 'object' }, handler })

const scripts = [
  [['tool_call', { id: 'c1', name: 'scan', arguments: {} }]],
  [['text', 'I see.']],
] as const

const answer = { role: 'tool', toolCallId: 'c1', content: parts }

describe('a handler that returns content(parts)', () => {
  test('answers its call with those parts, in the event and in the thread', async () => {
    const adapter = fake({ scripts })
    const stream = streamChat(createEngine({ adapter, tools: [scan(() => content(parts))] }), [
      user('Scan it.'),
    ])
    const events = []
    for await (const event of stream) events.push(event)
    expect(events).toContainEqual({ type: 'tool_result_encoded', id: 'c1', content: parts })
    const completed = events.find(({ type }) => type === 'tool_execution_completed')
    expect(completed).toMatchObject({ result: { ok: parts, parts: true } })
    expect(JSON.parse(JSON.stringify(events))).toEqual(events)
    const { thread } = await stream.result
    expect(thread.messages[2]).toEqual(answer)
    expect(adapter.calls[1]?.request.messages[2]).toEqual(answer)
  })

  test('does not pass through the encoder of results', async () => {
    const engine = createEngine({
      adapter: fake({ scripts }),
      tools: [scan(() => content(parts))],
      toolResultEncoder: () => 'encoded',
    })
    expect((await chat(engine, 'Scan it.')).thread.messages[2]).toEqual(answer)
  })

  test('can halt with them', async () => {
    const { messages, halt: halted } = await runToolCalls(
      [{ id: 'c1', name: 'scan', arguments: {} }],
      [scan(() => halt('scanned', content(parts)))],
    )
    expect(messages).toEqual([answer])
    expect(halted).toMatchObject({ reason: 'scanned', result: parts })
  })

  test('can be replaced with them by onToolError', async () => {
    const engine = createEngine({
      adapter: fake({ scripts }),
      tools: [
        scan(() => {
          throw new Error('jammed')
        }),
      ],
      onToolError: () => ({ continue: content(parts) }),
    })
    expect((await chat(engine, 'Scan it.')).thread.messages[2]).toEqual(answer)
  })

  test('is not run again when the run is cut before its result was encoded', async () => {
    const messages = [user('Scan it.')]
    const report = await crashAtEveryEvent({
      scripts,
      tools: [scan(() => content(parts))],
      messages,
    })
    expect(report.toolRuns).toEqual({ scan: 1 })
  })

  test('keeps its own list: a later change of it does not change the result', async () => {
    const own = [textPart('Page 1')]
    const { messages } = await runToolCalls(
      [{ id: 'c1', name: 'scan', arguments: {} }],
      [scan(() => content(own))],
    )
    own.push(textPart('Page 2'))
    expect(messages[0]?.content).toEqual([textPart('Page 1')])
  })

  test('can be answered by hand with parts as well', async () => {
    const manual = tool({ name: 'scan', description: '', schema: { type: 'object' }, manual: true })
    const engine = createEngine({ adapter: fake({ scripts }), tools: [manual] })
    const { session } = await Session.start(engine, [user('Scan it.')])
    const answered = Session.submitToolResult(session, 'c1', parts)
    expect(answered.thread.messages[2]).toEqual(answer)
    expect(Session.parse(Session.stringify(answered))).toEqual(answered)
  })
})

test.each<[string, unknown, string]>([
  ['nothing', [], 'parts must be a list of at least one part'],
  ['reasoning', [{ type: 'reasoning', text: 'hm' }], 'parts[0].type must be text, image, file'],
  [
    'bytes of another type',
    [
      {
        type: 'image',
        image: { type: 'base64', base64: btoa('root:x:0:0'), mimeType: 'image/png' },
      },
    ],
    'parts[0] is declared as image/png, but its bytes are not',
  ],
  ['a path', [{ type: 'image', image: { type: 'file', path: '/etc/passwd' } }], 'local path'],
])('content() refuses %s where it is written', (_name, wrong, problem) => {
  expect(() => content(wrong as never)).toThrow(problem)
})

const mislabelled = {
  type: 'file',
  file: { type: 'base64', base64: btoa('root:x:0:0'), mimeType: 'application/pdf' },
}

test.each([[{ type: 'text' }], [mislabelled]])(
  'an outcome that only looks like content is told to the model as an error: %o',
  async (part) => {
    const forged = { [outcomeBrand]: true, type: 'content', parts: [part] }
    const { messages } = await runToolCalls(
      [{ id: 'c1', name: 'scan', arguments: {} }],
      [scan(() => forged)],
    )
    expect(messages[0]?.content).toMatch(
      /^{"error":"the result of the tool could not be encoded: .+"}$/,
    )
  },
)
