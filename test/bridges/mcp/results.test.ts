import { describe, expect, test } from 'vitest'
import { createEngine, streamChat, type Message, type Tool } from '../../../src/index.ts'
import { mcpTools, type McpToolsOptions } from '../../../src/mcp.ts'
import { collectEvents, fake } from '../../../src/testing.ts'
import { connectPair, listed, packages, plainClient, resultOfCall, said } from './pairs.ts'

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const wav = btoa('RIFF\0\0\0\0WAVEfmt \0')
const pdf = btoa('%PDF-1.7 …'.slice(0, 9))

/** The tool message of a result, as the model reads it. */
async function read(
  result: object,
  options: McpToolsOptions = {},
  more: object = {},
): Promise<unknown> {
  return resultOfCall(
    await mcpTools(
      plainClient([listed('act', more)], async () => result),
      options,
    ),
  )
}

describe.each(packages)('%s', (which) => {
  test('texts, images, recordings and resources of a result are kept', async () => {
    const { client } = await connectPair(which, {
      call: () => ({
        content: [
          { type: 'text', text: 'Here:' },
          { type: 'image', data: png, mimeType: 'image/png' },
          { type: 'audio', data: wav, mimeType: 'audio/wav' },
          {
            type: 'resource',
            resource: { uri: 'demo://a/b.txt', mimeType: 'text/plain', text: 'Hello' },
          },
          {
            type: 'resource',
            resource: { uri: 'demo://a/b.pdf', mimeType: 'application/pdf', blob: pdf },
          },
          { type: 'resource_link', uri: 'demo://c', name: 'C', description: 'The third' },
        ],
      }),
    })
    expect(await resultOfCall(await mcpTools(client))).toEqual([
      { type: 'text', text: 'Here:' },
      { type: 'image', image: { type: 'base64', base64: png, mimeType: 'image/png' } },
      { type: 'file', file: { type: 'base64', base64: wav, mimeType: 'audio/wav' } },
      { type: 'text', text: 'demo://a/b.txt\nHello' },
      {
        type: 'file',
        file: { type: 'base64', base64: pdf, mimeType: 'application/pdf', name: 'b.pdf' },
      },
      { type: 'text', text: 'C: demo://c: The third' },
    ])
  })

  test('a tool that fails is a failed call that the model reads', async () => {
    const { client } = await connectPair(which, {
      call: () => ({ ...said('No such city'), isError: true }),
    })
    const [completed, message] = await ran(await mcpTools(client))
    expect(completed).toMatchObject({
      result: { error: { reason: 'handler_failed', message: 'No such city' } },
    })
    expect(message).toMatchObject({
      content: '{"error":"No such city"}',
      metadata: { isError: true },
    })
  })

  test('a protocol error is a failed call, with the error of the package as its cause', async () => {
    const { client } = await connectPair(which, {
      call: () => {
        throw Object.assign(new Error('Unknown tool: act'), { code: -32_602 })
      },
    })
    expect(await resultOfCall(await mcpTools(client))).toMatch(
      /^\{"error":"the tool failed: .*Unknown tool: act"\}$/,
    )
  })

  test('structured content is the value of the result', async () => {
    const outputSchema = {
      type: 'object',
      properties: { sum: { type: 'number' } },
      required: ['sum'],
    }
    const { client } = await connectPair(which, {
      list: () => ({ tools: [listed('act', { outputSchema })] }),
      call: () => ({ ...said('{ "sum": 3 }'), structuredContent: { sum: 3 } }),
    })
    const [completed, message] = await ran(await mcpTools(client))
    expect(completed).toMatchObject({ result: { ok: { sum: 3 } } })
    expect(message?.content).toBe('{"sum":3}')
  })
})

/** How the call ended, and the message that the model reads. */
async function ran(tools: readonly Tool[]): Promise<readonly [unknown, Message | undefined]> {
  const call = { id: 'c1', name: 'act', arguments: {} }
  const adapter = fake({ scripts: [[['tool_call', call]], [['text', 'done']]] })
  const stream = streamChat(createEngine({ adapter, tools }), 'go')
  const events = await collectEvents(stream)
  const completed = events.find(({ type }) => type === 'tool_execution_completed')
  const { thread } = await stream.result
  return [completed, thread.messages[2]]
}

describe('structured content', () => {
  const structuredContent = { a: 1 }

  test.each([
    ['alone', { structuredContent }, '{"a":1}'],
    [
      'of which a text repeats a part',
      { ...said('One\nTwo'), structuredContent: { words: 'One\nTwo' } },
      'One\nTwo',
    ],
    [
      'with a text that says something else',
      { ...said('One'), structuredContent },
      [
        { type: 'text', text: 'One' },
        { type: 'text', text: '{"a":1}' },
      ],
    ],
    ['that is a list', { structuredContent: [1, 2], content: [] }, '[1,2]'],
  ])('%s', async (_title, result, expected) => {
    expect(await read(result)).toEqual(expected)
  })

  test('and an image are both kept', async () => {
    const result = {
      content: [{ type: 'image', data: png, mimeType: 'image/png' }],
      structuredContent,
    }
    expect(await read(result)).toMatchObject([{ type: 'image' }, { type: 'text', text: '{"a":1}' }])
  })

  const schemaOf = (a: object): object => ({ outputSchema: { type: 'object', properties: { a } } })

  test('that does not match its schema is a failed call', async () => {
    expect(await read({ structuredContent }, {}, schemaOf({ type: 'string' }))).toBe(
      '{"error":"the result of act is not as its schema says: a must be a string, not 1"}',
    )
  })

  test('is checked without patterns, which could take for ever', async () => {
    const slow = schemaOf({ type: 'string', pattern: '^(a+)+$' })
    const value = { structuredContent: { a: `${'a'.repeat(50)}!` } }
    expect(await read(value, {}, slow)).toBe(JSON.stringify(value.structuredContent))
    expect(await read({ structuredContent }, {}, slow)).toContain('a must be a string, not 1')
  })
})

describe('what no request could carry becomes a line of text', () => {
  const block = (more: object) => ({
    content: [{ type: 'image', data: png, mimeType: 'image/png', ...more }],
  })

  test.each([
    [
      'bytes that are not of their type',
      block({ data: btoa('not a picture at all') }),
      '[left out: image/png ]',
    ],
    ['no base64', block({ data: '%%%' }), '[left out: image/png ]'],
    ['no bytes', block({ data: undefined }), '[left out: image/png ]'],
    [
      'a type that no provider takes',
      block({ data: btoa('<svg/>'), mimeType: 'image/svg+xml' }),
      '[left out: image/svg+xml ]',
    ],
    [
      'an archive',
      {
        content: [
          {
            type: 'resource',
            resource: { uri: 'x:/a.gz', blob: btoa('PK..'), mimeType: 'application/gzip' },
          },
        ],
      },
      '[left out: application/gzip a.gz]',
    ],
  ])('%s', async (_title, result, expected) => {
    expect(await read(result)).toBe(expected)
  })

  test('the type of an image is that of its bytes', async () => {
    expect(await read(block({ mimeType: 'image/jpeg' }))).toMatchObject([
      { image: { mimeType: 'image/png' } },
    ])
    expect(await read(block({ mimeType: 'IMAGE/PNG; a=b' }))).toMatchObject([
      { image: { mimeType: 'image/png' } },
    ])
  })

  test('accepts says which types are kept', async () => {
    const sound = { content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] }
    expect(await read(sound, { accepts: (type) => !type.startsWith('audio/') })).toBe(
      '[left out: audio/wav ]',
    )
    const gzip = {
      content: [
        {
          type: 'resource',
          resource: { uri: 'x:/a.gz', blob: btoa('PK..'), mimeType: 'application/gzip' },
        },
      ],
    }
    expect(await read(gzip, { accepts: () => true })).toMatchObject([
      { type: 'file', file: { name: 'a.gz' } },
    ])
  })
})

describe('odd results', () => {
  test.each([
    ['nothing', {}, ''],
    ['an empty list', { content: [] }, ''],
    ['no list', { content: 'hello' }, ''],
    ['a text that is no text', { content: [{ type: 'text', text: 5 }] }, '5'],
    ['no block', { content: [null] }, '{}'],
    ['an unknown block', { content: [{ type: 'film', at: 1 }] }, '{"type":"film","at":1}'],
    ['a failure without a text', { isError: true }, '{"error":"the tool failed"}'],
  ])('%s', async (_title, result, expected) => {
    expect(await read(result)).toBe(expected)
  })

  test('a result that is too large is a failed call', async () => {
    const large = said('x'.repeat(2000))
    expect(await read(large, { maxResultBytes: 1000 })).toBe(
      '{"error":"the result of act exceeds maxResultBytes: 1000"}',
    )
    expect(await read(large, { maxResultBytes: 3000 })).toHaveLength(2000)
  })

  test('the words of a failure are cut', async () => {
    const failed = { ...said(`No. ${'x'.repeat(100_000)}`), isError: true }
    expect(String(await read(failed)).length).toBeLessThan(400)
  })
})
