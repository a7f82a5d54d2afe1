import { getEventListeners } from 'node:events'
import { expect, test, vi } from 'vitest'
import { connectRun, type RunConnection } from '../../../src/client.ts'
import { askUser, createEngine, messageText, Session, tool } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type ScriptFunction, type VirtualClock } from '../../../src/testing.ts'

/** A page sees what changes a session at rest without an event: a rewind, and what expires in a run that was stopped. */

const minute = 60_000
const schema = { type: 'object' } as const

function world() {
  const clock = virtualClock({ start: 1000, auto: false })
  const script: ScriptFunction = ({ messages }) => {
    const last = messages.at(-1)
    const said = last === undefined ? '' : messageText(last)
    if (said === 'ask' || said === 'pay') return [['tool_call', { id: 'c1', name: said }]]
    if (said !== 'long') return [['text', 'ok']]
    return [
      ['text', 'One'],
      ['delay', minute * 60],
    ]
  }
  const tools = [
    tool({ name: 'ask', description: '', schema, handler: () => askUser('Sure?') }),
    tool({
      name: 'pay',
      description: '',
      schema,
      needsApproval: { expiresInMs: minute },
      handler: () => 'paid',
    }),
  ]
  const store = memoryStore({ clock })
  const engine = createEngine({ adapter: fake({ script }), tools, clock })
  return { clock, store, runs: createRuns({ engine, store, clock }) }
}

function pageOf(runs: Runs, clock: VirtualClock): RunConnection {
  const handle = runs.handler({ authorize: () => true })
  return connectRun({
    url: 'http://localhost/ada',
    pollMs: 1000,
    fetch: async (url, init) => handle(new Request(url, init)),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  })
}

test('after a rewind a page is refused once, shows what there is, and goes on', async () => {
  const { clock, store, runs } = world()
  const page = pageOf(runs, clock)
  await page.send('ask')
  await expect.poll(() => page.state.pendingQuestion?.question).toBe('Sure?')
  const stored = await store.load('ada')
  if (stored === undefined) throw new Error('no session')
  await store.save(Session.rewind(stored.session, 0), { ifVersion: stored.version })
  await expect(page.send('hello')).rejects.toMatchObject({ reason: 'stale_ticket' })
  await expect
    .poll(() => [page.state.status, page.state.pendingQuestion])
    .toEqual(['idle', undefined])
  await page.send('hello')
  await expect.poll(() => page.state.messages.at(-1)?.text).toBe('ok')
  page.close()
  await runs.close()
})

test('a page of a stopped run sees that something has expired, by looking again', async () => {
  const { clock, runs } = world()
  const page = pageOf(runs, clock)
  await page.send('pay')
  await expect.poll(() => page.state.status).toBe('awaiting_approval')
  await page.send('long')
  await expect.poll(() => page.state.messages.at(-1)?.text).toBe('One')
  await page.stop()
  await expect.poll(() => page.state.status).toBe('halted')
  expect(page.state.pendingApprovals).toHaveLength(1)
  await clock.advance(minute)
  await clock.advance(2000)
  await expect.poll(() => page.state.pendingApprovals).toEqual([])
  expect(page.state.tools[0]?.approval).toMatchObject({ decision: 'denied', by: 'expiry' })
  page.close()
  await runs.close()
})

test('a page that looks again and again listens to its end once', async () => {
  const { runs } = world()
  const handle = runs.handler({ authorize: () => true })
  const ends = new Set<AbortSignal>()
  const spy = vi.spyOn(AbortSignal, 'any')
  let looks = 0
  const page = connectRun({
    url: 'http://localhost/ada',
    pollMs: 1,
    fetch: async (url, init) => {
      looks++
      return handle(new Request(url, init))
    },
  })
  await page.send('ask')
  await expect.poll(() => looks).toBeGreaterThan(15)
  for (const [signals] of spy.mock.calls) for (const signal of signals) ends.add(signal)
  spy.mockRestore()
  expect(ends.size).toBeGreaterThan(0)
  for (const end of ends) expect(getEventListeners(end, 'abort').length).toBeLessThan(5)
  page.close()
  await runs.close()
})

test('what is hidden from a viewer stays hidden, whatever the handler includes', async () => {
  const { runs, clock } = world()
  await runs.send('ada', 'pay')
  await clock.advance(0)
  const handle = runs.handler({
    include: ['tool_arguments'],
    authorize: () => ({ hide: ['approval_arguments'] }),
  })
  for (const path of ['ada', 'ada/events?after=0']) {
    const response = await handle(new Request(`http://x/${path}`))
    expect(await response.text()).not.toContain('"arguments"')
  }
  await runs.close()
})
