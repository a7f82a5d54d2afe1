import { describe, expect, test } from 'vitest'
import {
  imageFromBase64,
  imagePart,
  Session,
  textPart,
  toView,
  ValidationError,
  type Message,
  type SessionView,
  type ViewInclude,
} from '../../../src/index.ts'

const view = (messages: readonly Message[], include?: readonly ViewInclude[]): SessionView =>
  toView(Session.create({ id: 's', messages }), { include })

const call = { id: 'c1', name: 'look', arguments: { at: 'SECRET' } }

describe('the messages of a view', () => {
  test('are those of user and assistant, with ids that are their places in the thread', () => {
    const { messages } = view([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: 'found', toolCallId: 'c1' },
      { role: 'assistant', content: 'Hello.' },
    ])
    expect(messages).toEqual([
      { id: 'm1', index: 1, role: 'user', text: 'Hi' },
      { id: 'm2', index: 2, role: 'assistant', text: '' },
      { id: 'm4', index: 4, role: 'assistant', text: 'Hello.' },
    ])
  })

  test('keep their ids when the thread grows', () => {
    const before = Session.create({ id: 's', messages: 'Hi' })
    const after = Session.append(before, { role: 'assistant', content: 'Hello.' }, 'And now?')
    expect(toView(after).messages.slice(0, 1)).toEqual(toView(before).messages)
  })

  test('have texts, images, files and sources apart', () => {
    const image = imageFromBase64('aGk=', 'image/png')
    const file = { type: 'base64', base64: 'aGk=', mimeType: 'text/plain' } as const
    const { messages } = view([
      {
        role: 'user',
        content: [textPart('Look '), imagePart(image), { type: 'file', file }, textPart('here')],
        metadata: { at: 1000, from: 'SECRET' },
      },
      {
        role: 'assistant',
        content: 'Seen.',
        sources: [{ type: 'url', url: 'https://a.b', providerMetadata: { x: 'SECRET' } }],
      },
    ])
    expect(messages).toEqual([
      {
        id: 'm0',
        index: 0,
        role: 'user',
        text: 'Look here',
        images: [image],
        files: [file],
        at: 1000,
      },
      {
        id: 'm1',
        index: 1,
        role: 'assistant',
        text: 'Seen.',
        sources: [{ type: 'url', url: 'https://a.b' }],
      },
    ])
  })

  test('show what the user answered, and not what the library says in the name of the user', () => {
    const messages: Message[] = [
      { role: 'user', content: 'Book' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: '14C', toolCallId: 'c1', metadata: { answeredByUser: true } },
      { role: 'assistant', content: 'Booked.' },
      { role: 'user', content: 'The result …', metadata: { lateResultOf: 'c0' } },
      { role: 'user', content: 'Again, as JSON', metadata: { repair: true } },
    ]
    const shown = (include?: readonly ViewInclude[]): readonly (readonly string[])[] =>
      view(messages, include).messages.map(({ id, role, text }) => [id, role, text])
    const own = [
      ['m0', 'user', 'Book'],
      ['m1', 'assistant', ''],
      ['answer-c1', 'user', '14C'],
      ['m3', 'assistant', 'Booked.'],
    ]
    expect(shown()).toEqual(own)
    expect(shown(['late_results'])).toEqual([...own, ['m4', 'tool', 'The result …']])
    expect(shown(['system'])).toEqual([...own, ['m5', 'system', 'Again, as JSON']])
  })

  test('of an answer that says nothing to a browser are left out', () => {
    const { messages } = view([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] },
    ])
    expect(messages).toHaveLength(1)
  })
})

test.each([
  [{}, { ok: true }],
  [{ isError: true }, { ok: false }],
  [{ denied: true }, { ok: false, denied: true }],
  [
    { interrupted: true, reported: true },
    { ok: false, interrupted: true },
  ],
  [{ pending: true }, {}],
] as const)('a call whose result is marked %j ended as %j', (metadata, end) => {
  const { tools } = view([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', content: 'SECRET', toolCallId: 'c1', metadata },
    { role: 'assistant', content: 'So.' },
  ])
  expect(tools).toEqual([{ id: 'c1', name: 'look', messageId: 'm1', ...end }])
})

test('the options are checked', () => {
  const session = Session.create({ messages: 'Hi' })
  // A mistake that a program without types makes.
  const include = ['sytem'] as unknown as ViewInclude[]
  expect(() => toView(session, { include })).toThrow(ValidationError)
})

test('a view is plain data', () => {
  const shown = view([{ role: 'user', content: 'Hi' }])
  expect(JSON.parse(JSON.stringify(shown))).toEqual(shown)
})
