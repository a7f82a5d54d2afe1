import { describe, expect, test } from 'vitest'
import { imageFromUrl } from '../../../src/core/messages/media.ts'
import {
  assistant,
  imagePart,
  providerItem,
  system,
  textPart,
  toolResult,
  user,
} from '../../../src/core/messages/messages.ts'
import { refusalOf } from '../../support/refusals.ts'

const call = { id: 'c1', name: 'look', arguments: { at: 'x' } }
const cat = imageFromUrl('https://example.com/cat.png')

test('each role has its constructor', () => {
  expect(system('Be brief.')).toStrictEqual({ role: 'system', content: 'Be brief.' })
  expect(user('Hello')).toStrictEqual({ role: 'user', content: 'Hello' })
  expect(assistant('Hi')).toStrictEqual({ role: 'assistant', content: 'Hi' })
  expect(toolResult('c1', 'sunny')).toStrictEqual({
    role: 'tool',
    content: 'sunny',
    toolCallId: 'c1',
  })
})

test('content may be parts', () => {
  expect(user([textPart('What is this?'), imagePart(cat, { detail: 'low' })])).toStrictEqual({
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', image: cat, detail: 'low' },
    ],
  })
  expect(imagePart(cat)).toStrictEqual({ type: 'image', image: cat })
  const item = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }
  expect(providerItem('openai', item)).toStrictEqual({
    type: 'provider_item',
    provider: 'openai',
    item,
  })
  expect(() => providerItem('', item)).toThrow(/provider/)
})

test('options that have no value leave no key behind', () => {
  expect(assistant('', { toolCalls: [], name: undefined, metadata: undefined })).toStrictEqual({
    role: 'assistant',
    content: '',
  })
  expect(assistant('', { toolCalls: [call], metadata: { a: 1 } })).toStrictEqual({
    role: 'assistant',
    content: '',
    toolCalls: [call],
    metadata: { a: 1 },
  })
})

describe('a tool result', () => {
  test.each<[string, Parameters<typeof toolResult>[1], unknown]>([
    ['a text as it is', '{"a":1}', '{"a":1}'],
    ['an object as JSON', { a: [1, null] }, '{"a":[1,null]}'],
    ['a number as JSON', 5, '5'],
    ['null as JSON', null, 'null'],
    ['an empty list as JSON', [], '[]'],
    ['a list of things as JSON', [{ type: 'text' }], '[{"type":"text"}]'],
    ['parts as parts', [textPart('a'), imagePart(cat)], [textPart('a'), imagePart(cat)]],
  ])('takes %s', (_name, content, expected) => {
    expect(toolResult('c1', content).content).toEqual(expected)
  })

  test('of work that failed is marked, and its text says so for providers that have no mark', () => {
    expect(toolResult('c1', 'no such row', { isError: true })).toStrictEqual({
      role: 'tool',
      content: '{"error":"no such row"}',
      toolCallId: 'c1',
      metadata: { isError: true },
    })
    expect(toolResult('c1', 'fine', { isError: false })).toStrictEqual(toolResult('c1', 'fine'))
    expect(refusalOf(() => toolResult('c1', '', { iserror: true } as never))).toMatchObject([
      { problem: expect.stringContaining('isError') as string },
    ])
  })

  test('refuses what JSON cannot hold, with its place', () => {
    expect(refusalOf(() => toolResult('c1', { when: new Date(0) } as never))).toEqual([
      { path: 'content.when', problem: 'must be a JSON value, not a Date' },
    ])
    expect(refusalOf(() => toolResult('', 'x'))).toMatchObject([{ path: 'toolCallId' }])
  })
})

describe('a mistake is refused where it is written', () => {
  test.each<[string, () => unknown, string, string]>([
    [
      'a misspelt option',
      () => assistant('', { toolcalls: [call] } as never),
      '',
      'unknown key toolcalls; did you mean toolCalls?',
    ],
    [
      'calls of a user',
      () => user('', { toolCalls: [call] } as never),
      '',
      'unknown key toolCalls; known keys are name, metadata, providerOptions',
    ],
    ['no content', () => user(undefined as never), 'content', 'is missing'],
    [
      'a bare image',
      () => user([cat] as never),
      'content[0].type',
      'must be one of text, image, file, reasoning, provider_item, not "url"',
    ],
    [
      'a call without arguments',
      () => assistant('', { toolCalls: [{ id: 'c1', name: 'x' }] } as never),
      'toolCalls[0].arguments',
      'is missing',
    ],
    [
      'options that are a text',
      () => user('hi', 'Ann' as never),
      '',
      'options must be an object, not "Ann"',
    ],
    ['a text that is a number', () => textPart(5 as never), 'text', 'must be a string, not 5'],
    [
      'a detail of its own',
      () => imagePart(cat, { detail: 'huge' } as never),
      'detail',
      'must be one of auto, low, high, not "huge"',
    ],
    [
      'an image that is an address',
      () => imagePart('https://a.b/c.png' as never),
      'image',
      'must be an object, not "https://a.b/c.png"',
    ],
  ])('%s', (_name, make, path, problem) => {
    expect(refusalOf(make)).toEqual([{ path, problem }])
  })
})
