import { expect, test } from 'vitest'
import { connectRun } from '../../../src/client.ts'
import { applyViewEvent } from '../../../src/durable/client/apply-view-event.ts'
import {
  askUser,
  createEngine,
  Session,
  tool,
  toView,
  toViewEvent,
  type SessionView,
  type ViewEvent,
  type ViewOptions,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'

/** A view says until when something waits, and that nobody settled it in time, live as after a reload. */

const minute = 60_000
const schema = { type: 'object' } as const

function world(...scripts: readonly Script[]) {
  const clock = virtualClock({ start: 1000, auto: false })
  const tools = [
    tool({
      name: 'pay',
      description: 'pays',
      schema,
      needsApproval: { expiresInMs: minute },
      handler: () => 'paid',
    }),
    tool({
      name: 'ask',
      description: 'asks',
      schema,
      handler: () => askUser('Which?', { expiresInMs: 2 * minute }),
    }),
  ]
  return { clock, engine: createEngine({ adapter: fake({ scripts }), tools, clock }) }
}

const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: {} },
]
const both: Script = [call('c1', 'pay'), call('c2', 'ask')]

/** A session that waits, its view as the fold of the events of its run, and the events. */
async function followed(options: ViewOptions = {}) {
  const { clock, engine } = world(both)
  const stream = Session.streamStart(engine, 'go')
  let view = toView(stream.session, options)
  const events: ViewEvent[] = []
  for await (const event of stream) {
    const shown = toViewEvent(event, options)
    if (shown === undefined) continue
    events.push(shown)
    view = applyViewEvent(view, shown)
  }
  return { clock, engine, view, events, session: stream.session }
}

const limitsOf = ({ pendingApprovals, pendingQuestion }: SessionView) => [
  ...pendingApprovals.map(({ id, expiresAt }) => [id, expiresAt]),
  [pendingQuestion?.toolCallId, pendingQuestion?.expiresAt],
]

test.each<ViewOptions>([{}, { hide: ['approval_arguments'] }])(
  'what waits has its limit, in the fold of a run as in the view of its session (%j)',
  async (options) => {
    const { view, session } = await followed(options)
    expect(view).toEqual(toView(session, options))
    expect(limitsOf(view)).toEqual([
      ['c1', 1000 + minute],
      ['c2', 1000 + 2 * minute],
    ])
  },
)

test('the events that ask have it too', async () => {
  const { events } = await followed()
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'approval_requested', expiresAt: 1000 + minute }),
  )
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'ask_user_requested', expiresAt: 1000 + 2 * minute }),
  )
})

test('what a run waits for says in its result since when and until when', async () => {
  const { engine } = world(both)
  const { result, session } = await Session.start(engine, 'go')
  expect(result.pending).toHaveLength(2)
  for (const wait of Session.pending(session)) expect(result.pending).toContainEqual(wait)
})

test('who may not see authors sees that a decision has expired, and nobody said what nobody said', async () => {
  const { session } = await followed()
  const expired = Session.expire(session, 1000 + 2 * minute)
  const { tools, messages } = toView(expired)
  expect(tools).toMatchObject([
    { id: 'c1', approval: { decision: 'denied', by: 'expiry' } },
    { id: 'c2', question: { text: 'Which?', answer: 'no answer', by: 'expiry' } },
  ])
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('who has settled something is not told, if it was a person', async () => {
  const { session } = await followed()
  const decided = Session.deny(session, 'c1', 'no', { by: 'ada' })
  const [pay] = toView(decided).tools
  expect(pay?.approval).not.toHaveProperty('by')
})

test('a page that is connected shows the limit, and what came of it', async () => {
  const { clock, engine } = world([call('c1', 'pay')], [['text', 'Too late.']])
  const store = memoryStore({ clock })
  await using runs = createRuns({ engine, store, clock })
  const handle = runs.handler({ authorize: () => true })
  await runs.send('ada', 'go')
  await clock.advance(0)
  const page = connectRun({
    url: 'http://localhost/ada',
    fetch: async (url, init) => handle(new Request(url, init)),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  })
  await expect.poll(() => page.state.status).toBe('awaiting_approval')
  expect(page.state.pendingApprovals).toMatchObject([{ id: 'c1', expiresAt: 1000 + minute }])
  await clock.advance(minute)
  page.refresh()
  await expect.poll(() => page.state.status).toBe('completed')
  expect(page.state.tools).toMatchObject([{ denied: true, approval: { by: 'expiry' } }])
  page.close()
})
