import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  halt,
  isSendable,
  Session,
  tool,
  validateSession,
  type Engine,
  type SessionStatus,
} from '../../../src/index.ts'
import { fileStore } from '../../../src/stores.ts'
import { fake, type ScriptInput } from '../../../src/testing.ts'

/** What version 0.1.0 has written: `make.mjs` in the folder made the files with its build. */
const folder = new URL('../../fixtures/sessions-0.1.0/', import.meta.url)
const saved = (name: string): string => readFileSync(new URL(`${name}.json`, folder), 'utf8')
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.json') && name !== 'cut-after-each-event.json')
  .map((name) => name.replace('.json', ''))

let weatherRuns = 0

/** An engine of today with the tools that the sessions were made with. */
function engine(...scripts: ScriptInput[]): Engine {
  const schema = { type: 'object' }
  return createEngine({
    adapter: fake({ scripts }),
    tools: [
      tool({
        name: 'weather',
        description: 'weather',
        schema,
        handler: () => {
          weatherRuns++
          return { celsius: 21 }
        },
      }),
      tool({ name: 'ask', description: 'ask', schema, handler: () => askUser('Which?') }),
      tool({ name: 'enough', description: 'enough', schema, handler: () => halt('enough', 4) }),
      tool({ name: 'refund', description: 'refund', schema, manual: true }),
    ],
  })
}

const talk = ({ thread }: Session): unknown[] =>
  thread.messages.map(({ role, content, toolCalls }) => [
    role,
    content,
    ...(toolCalls ?? []).map(({ id }) => id),
  ])

describe('a session that 0.1.0 saved', () => {
  test.each(names)('%s is read, and written as version 3', (name) => {
    const session = Session.parse(saved(name))
    expect(validateSession(session)).toEqual([])
    expect(JSON.parse(Session.stringify(session))).toMatchObject({ version: 3 })
    expect(Session.parse(Session.stringify(session))).toEqual(session)
  })

  test.each<[string, SessionStatus]>([
    ['completed', 'completed'],
    ['awaiting-user', 'awaiting_user'],
    ['awaiting-two-answers', 'awaiting_user'],
    ['awaiting-tools', 'awaiting_tools'],
    ['awaiting-tools-and-user', 'awaiting_user'],
    ['manual-mode', 'awaiting_tools'],
    ['max-turns', 'completed'],
    ['halt', 'completed'],
    ['failed', 'error'],
    ['stopped', 'halted'],
    ['image-of-a-file', 'completed'],
  ])('%s has the status %s', (name, status) => {
    expect(Session.parse(saved(name)).status).toBe(status)
  })

  test('that was completed takes the next message', async () => {
    const session = Session.parse(saved('completed'))
    const next = await Session.reply(engine(['Bye.']), session, 'Bye.')
    expect(next.session.status).toBe('completed')
    expect(talk(next.session)).toEqual([
      ['user', 'Hello.'],
      ['assistant', '', 'c1'],
      ['tool', '{"celsius":21}'],
      ['assistant', 'Hello Ada.'],
      ['user', 'Bye.'],
      ['assistant', 'Bye.'],
    ])
  })

  test('that asked the user takes the answer as the result of the call', async () => {
    const session = Session.parse(saved('awaiting-user'))
    expect(session.pendingQuestion).toBe('About c1?')
    const next = await Session.reply(engine(['Booked.']), session, 'yes')
    expect(next.session.status).toBe('completed')
    expect(talk(next.session)).toEqual([
      ['user', 'Hello.'],
      ['assistant', '', 'c1'],
      ['tool', '{"question":"About c1?","answer":"yes"}'],
      ['assistant', 'Booked.'],
    ])
  })

  test('with two questions asks the second one after the first', async () => {
    const first = Session.parse(saved('awaiting-two-answers'))
    const second = await Session.reply(engine(), first, 'yes')
    expect(second.session.pendingQuestion).toBe('About c3?')
    const last = await Session.reply(engine(['Done.']), second.session, 'no')
    expect(last.session.status).toBe('completed')
    expect(talk(last.session).slice(2)).toEqual([
      ['tool', '{"question":"About c1?","answer":"yes"}'],
      ['tool', '{"celsius":21}'],
      ['tool', '{"question":"About c3?","answer":"no"}'],
      ['assistant', 'Done.'],
    ])
  })

  test('that waits for a result takes it', async () => {
    const session = Session.parse(saved('awaiting-tools'))
    const answered = Session.submitToolResult(session, 'c1', { refunded: true })
    const next = await Session.resume(engine(['Refunded.']), answered)
    expect(next.session.status).toBe('completed')
    expect(talk(next.session).slice(2)).toEqual([
      ['tool', '{"refunded":true}'],
      ['assistant', 'Refunded.'],
    ])
  })

  test('that waits for a result and an answer takes them in either order', async () => {
    const session = Session.parse(saved('awaiting-tools-and-user'))
    const results = [
      ['tool', 'refunded'],
      ['tool', '{"question":"About c2?","answer":"yes"}'],
      ['assistant', 'Done.'],
    ]
    const submitted = Session.submitToolResult(session, 'c1', 'refunded')
    const one = await Session.reply(engine(['Done.']), submitted, 'yes')
    expect(talk(one.session).slice(2)).toEqual(results)
    const replied = await Session.reply(engine(), session, 'yes')
    const both = Session.submitToolResult(replied.session, 'c1', 'refunded')
    const other = await Session.resume(engine(['Done.']), both)
    expect(talk(other.session).slice(2)).toEqual(results)
  })

  test('of a run in manual mode goes on with the results that you give', async () => {
    const session = Session.parse(saved('manual-mode'))
    const answered = Session.submitToolResult(session, 'c1', 'sunny')
    const next = await Session.resume(engine(['Sunny.']), answered)
    expect(next.session.status).toBe('completed')
    expect(talk(next.session).at(-2)).toEqual(['tool', 'sunny'])
  })

  test.each(['max-turns', 'halt'])('that ended by %s goes on with a message', async (name) => {
    const session = Session.parse(saved(name))
    const next = await Session.reply(engine(['Hello Ada.']), session, 'Go on.')
    expect(next.session.status).toBe('completed')
    expect(talk(next.session).slice(-2)).toEqual([
      ['user', 'Go on.'],
      ['assistant', 'Hello Ada.'],
    ])
  })

  test.each(['failed', 'stopped'])('that %s is resumed, and its answer is whole', async (name) => {
    const session = Session.parse(saved(name))
    const next = await Session.resume(engine(['Hello Ada.']), session)
    expect(next.session.status).toBe('completed')
    expect(talk(next.session)).toEqual([
      ['user', 'Hello.'],
      ['assistant', 'Hello Ada.'],
    ])
  })

  test('with an image that named a local file has a text in its place', () => {
    const session = Session.parse(saved('image-of-a-file'))
    expect(session.thread.messages[0]?.content).toEqual([
      { type: 'text', text: 'What is this?' },
      { type: 'text', text: '[image of the file cat.png, which was not read]' },
    ])
  })
})

interface Cut {
  readonly after: string
  readonly session: string
}
const cuts = JSON.parse(saved('cut-after-each-event')) as Cut[]

test.each(cuts.map(({ after }, index) => [index + 1, after] as const))(
  'a run that 0.1.0 saved after event %i, %s, ends today as the whole run did',
  async (count) => {
    weatherRuns = 0
    const session = Session.parse(cuts[count - 1]?.session ?? '')
    expect(isSendable(session.thread)).toBe(true)

    const seen = cuts.slice(0, count).map(({ after }) => after)
    const answers = seen.filter((type) => type === 'message_completed').length
    const calls: ScriptInput = ['c1', 'c2'].map((id) => ['tool_call', { id, name: 'weather' }])
    const left = [calls, ['Hello Ada.']].slice(answers)
    const ended =
      session.status === 'completed' ? { session } : await Session.resume(engine(...left), session)

    expect(ended.session.status).toBe('completed')
    const results = ended.session.thread.messages.filter(({ role }) => role === 'tool')
    expect(results).toHaveLength(2)
    expect(talk(ended.session)).toEqual([
      ['user', 'Hello.'],
      ['assistant', '', 'c1', 'c2'],
      ...results.map(({ content }) => ['tool', content]),
      ['assistant', 'Hello Ada.'],
    ])
    // A call that was started and has no result may have taken effect, so it is not run again.
    const started = seen.filter((type) => type === 'tool_execution_started').length
    expect(weatherRuns).toBe(2 - started)
  },
)

test('a file that fileStore of 0.1.0 wrote is read, and replaced by the next save', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'allm-'))
  try {
    cpSync(fileURLToPath(new URL('file-store/', folder)), directory, { recursive: true })
    const store = fileStore(directory)
    const stored = await store.load('ada')
    expect(stored?.session.thread.messages.at(-1)?.content).toBe('Hello Ada.')
    const { session } = await Session.reply(
      engine(['Bye.']),
      stored?.session ?? Session.create(),
      'Bye.',
    )
    await store.save(session, { ifVersion: stored?.version })
    expect((await store.load('ada'))?.session.thread.messages).toHaveLength(4)
    expect((await store.list()).map(({ id }) => id)).toEqual(['ada'])
  } finally {
    rmSync(directory, { recursive: true })
  }
})
