import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  askUser,
  assistant,
  createEngine,
  imageFromBase64,
  imagePart,
  Session,
  textPart,
  tool,
  user,
} from '../../../src/index.ts'
import { fileStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { allm, scratch } from './support.ts'

async function shown(session: Session, ...options: readonly string[]): Promise<string> {
  const path = scratch('session.json')
  writeFileSync(path, Session.stringify(session))
  const { code, stdout, stderr } = await allm(['session', 'show', path, ...options])
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

const weather = tool({
  name: 'weather',
  description: 'The weather.',
  schema: { type: 'object' },
  manual: true,
})

test('a completed session: who said what, and what is legal next', async () => {
  const image = imagePart(imageFromBase64('iVBORw0KGgo=', 'image/png'))
  const source = { type: 'url', url: 'https://example.com', title: 'A page' } as const
  const answer = { ...assistant('an answer'), sources: [source] }
  const messages = [user([textPart('two\nlines'), image]), answer]
  const session: Session = { ...Session.create({ id: 's1', messages }), status: 'completed' }
  expect(await shown(session)).toBe(
    [
      'session s1 · completed · 2 messages',
      '',
      'user      two',
      '          lines [1 image]',
      'assistant an answer',
      '          [1] A page https://example.com',
      '',
      'legal     Session.start, Session.reply, Session.step, Session.append, Session.rewind',
      '',
    ].join('\n'),
  )
})

test('an answer says who gave it and why it ended, also if nothing is left of it', async () => {
  const call = { id: 'c1', name: 'weather', arguments: {} }
  const messages = [
    user('one'),
    { ...assistant('half'), agent: 'Desk', finishReason: 'length' } as const,
    user('two'),
    { ...assistant(''), finishReason: 'content_filter' } as const,
    { ...assistant('', { toolCalls: [call] }), agent: 'Expert' },
    { role: 'tool', toolCallId: 'c1', content: '21' } as const,
  ]
  const text = await shown(Session.create({ id: 's1', messages }))
  expect(text.split('\n').slice(2, 9)).toEqual([
    'user      one',
    'assistant half (Desk, cut at the length limit)',
    'user      two',
    'assistant (filtered)',
    'assistant (Expert)',
    '          calls weather {} (c1)',
    'tool      c1 → 21',
  ])
})

test('a session that waits for tools names the calls', async () => {
  const call = { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }
  const engine = createEngine({
    adapter: fake({ script: [['tool_call', call]] }),
    tools: [weather],
  })
  const { session } = await Session.start(engine, [user('hi')])
  const text = await shown(session)
  expect(text).toContain('assistant calls weather {"city":"Ghent"} (c1)\n')
  expect(text).toContain('waits     for the result of weather {"city":"Ghent"} (c1)\n')
  expect(text).toContain('legal     Session.reply, Session.rewind, Session.submitToolResult\n')
})

test('a call shows what it asked and what was decided, by whom and when', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object' },
    needsApproval: true,
    handler: () => 'paid',
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    schema: { type: 'object' },
    handler: () => askUser('How?', { choices: ['cash', 'card'] }),
  })
  const scripts = [
    [
      ['tool_call', { id: 'c1', name: 'ask' }],
      ['tool_call', { id: 'c2', name: 'pay', arguments: { euros: 9 } }],
      ['tool_call', { id: 'c3', name: 'pay', arguments: { euros: 900 } }],
    ],
    ['Done.'],
  ] as const
  const engine = createEngine({ adapter: fake({ scripts }), tools: [ask, pay] })
  const first = await Session.start(engine, 'Pay.')
  const { session: answered } = await Session.reply(engine, first.session, 'card', { by: 'Ada' })
  const approved = Session.approve(answered, 'c2', { by: 'Bob', arguments: { euros: 5 } })
  const denied = Session.deny(approved, 'c3', 'too much', { by: 'Eve' })
  const text = await shown((await Session.resume(engine, denied)).session)
  expect(
    text
      .replaceAll(/ at \S+Z/g, '')
      .split('\n')
      .slice(3, 13),
  ).toEqual([
    'assistant calls ask {} (c1)',
    '            asked How? {"choices":["cash","card"]}',
    '            answered by Ada: card',
    '          calls pay {"euros":9} (c2)',
    '            approved by Bob with {"euros":5}',
    '          calls pay {"euros":900} (c3)',
    '            denied by Eve: too much',
    'tool      c1 → card (answered)',
    expect.stringContaining('tool      c2 → '),
    '          paid',
  ])
})

test('what waits says until when, and what nobody settled in time has expired', async () => {
  const limit = { expiresInMs: 60_000 }
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object' },
    needsApproval: limit,
    handler: () => 'paid',
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    schema: { type: 'object' },
    handler: () => askUser('How?', limit),
  })
  const script = [
    ['tool_call', { id: 'c1', name: 'ask' }],
    ['tool_call', { id: 'c2', name: 'pay' }],
  ] as const
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) })
  const engine = createEngine({ adapter: fake({ script }), tools: [ask, pay], clock })
  const { session } = await Session.start(engine, 'Pay.')
  const waiting = await shown(session)
  expect(waiting).toContain('waits     for the user: How? · expires at 2026-01-01T00:01:00.000Z\n')
  expect(waiting).toContain(
    'waits     for approval of pay {} (c2) · expires at 2026-01-01T00:01:00.000Z\n',
  )
  const over = await shown(Session.expire(session, Date.UTC(2026, 0, 2)))
  expect(over).toContain('expired at 2026-01-02T00:00:00.000Z: no answer\n')
  expect(over).toContain('expired at 2026-01-02T00:00:00.000Z: nobody decided in time\n')
  expect(over).not.toContain('by expiry')
  expect(over).not.toContain('expires')
})

test('a session that was cut says where, and marks the answer', async () => {
  const clock = virtualClock()
  const engine = createEngine({
    adapter: fake({
      script: [
        ['text', 'half'],
        ['delay', 1],
        ['text', ' more'],
      ],
    }),
    clock,
  })
  const run = Session.streamStart(engine, [user('hi')])
  for await (const event of run) if (event.type === 'text_delta') break
  const text = await shown(run.session)
  expect(text).toContain('assistant half (cut)\n')
  expect(text).toContain('cut       during an answer\n')
  expect(text).toContain('Session.resume')
})

test('a session that was cut between two steps says so in plain words', async () => {
  const now = tool({
    name: 'now',
    description: 'The time.',
    schema: { type: 'object' },
    handler: () => 'noon',
  })
  const call = { id: 'c1', name: 'now' }
  const adapter = fake({ scripts: [[['tool_call', call]], [['text', 'Noon.']]] })
  const run = Session.streamStart(createEngine({ adapter, tools: [now] }), [user('hi')])
  for await (const event of run) if (event.type === 'step_completed') break
  expect(await shown(run.session)).toContain('cut       between two steps\n')
})

test('a session in error says why, without a key', async () => {
  const details = { message: 'refused sk-abcdefghijklmnop' }
  const adapter = fake({ script: [['preflight_error', 'authentication_failed', details]] })
  const { session } = await Session.start(createEngine({ adapter }), [user('hi')])
  expect(await shown(session)).toMatch(
    /\nfailed {4}fake: authentication_failed: refused \[redacted\]\n/,
  )
})

test('--json prints the session itself', async () => {
  const session = Session.create({ id: 's1', messages: [user('hi')] })
  expect(JSON.parse(await shown(session, '--json'))).toEqual(session)
})

test('the folder of a session in a fileStore is read, and a file of version 0.1.0', async () => {
  const session = Session.create({ id: 's1', messages: [user('hi')] })
  const old = scratch('old.json')
  const folder = join(dirname(old), 's1')
  await fileStore(dirname(folder)).save(session)
  await fileStore(dirname(folder)).save(session)
  writeFileSync(old, `{"version":3,"session":${Session.stringify(session)}}`)
  for (const path of [folder, join(folder, readdirSync(folder)[0] ?? ''), old]) {
    const { code, stdout } = await allm(['session', 'show', path])
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'session s1 · idle · 1 message'])
  }
})

test('a file that is not there is one line', async () => {
  const path = scratch('none.json')
  const { code, stderr } = await allm(['session', 'show', path])
  expect([code, stderr]).toEqual([
    2,
    `allm-ts: cannot read ${path}: file not found; name the file of a session\n`,
  ])
})
