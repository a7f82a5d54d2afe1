import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyViewEvent } from '../../../src/durable/client/apply-view-event.ts'
import { viewIncludes } from '../../../src/engine/model-call/view-event.ts'
import {
  Session,
  toView,
  toViewEvent,
  type SessionStream,
  type SessionView,
  type StreamEvent,
  type ViewInclude,
} from '../../../src/index.ts'
import { commandFor, engineOf, isEnd, plan, untilEnd, type Plan } from './plans.ts'

/** The view of a session, and the fold of its runs' events into an earlier view, are the same. */

/** What must agree after an event. During a run the session may have its next status a step earlier than the events tell it. */
function comparable(view: SessionView, event: StreamEvent): unknown {
  const { cursor, ...rest } = view
  const shown = view.tools.map(({ progress: _progress, arguments: args, ...one }) => {
    // The arguments of a call that has only begun are not known yet.
    return args === undefined || Object.keys(args).length === 0 ? one : { ...one, arguments: args }
  })
  if (isEnd(event)) return { ...rest, tools: shown }
  return { messages: view.messages, tools: shown, next: view.status === 'idle' && cursor?.next }
}

async function check(chosen: Plan, include: readonly ViewInclude[]): Promise<number> {
  const engine = engineOf(chosen)
  const lives = [...chosen.lives]
  let seen = 0
  let session = Session.create({ id: 's', messages: 'go' })
  for (let turn = 0; turn < chosen.choices.length; turn++) {
    const command = turn === 0 ? undefined : commandFor(session, chosen.choices[turn] ?? 0)
    const stopping = new AbortController()
    const options = { signal: stopping.signal }
    let stream: SessionStream = Session.streamNext(engine, session, command, options)
    let view = toView(stream.session, { include })
    // That of a page that is loaded again and again.
    let reloaded = view
    for (;;) {
      let left = lives.shift() ?? Number.POSITIVE_INFINITY
      let died = false
      let count = 0
      for await (const event of untilEnd(stream)) {
        seen++
        // A run that is over before its first event has dropped the partial answer of a process that died, and no event says so.
        if (count++ === 0 && event.type === 'error') {
          view = toView(stream.session, { include })
          reloaded = view
        }
        const shown = toViewEvent(event, { include })
        if (shown !== undefined) {
          view = applyViewEvent(view, shown)
          reloaded = applyViewEvent(reloaded, shown)
        }
        const now = toView(stream.session, { include })
        if (isEnd(event) || now.status === 'idle') {
          expect(comparable(view, event)).toEqual(comparable(now, event))
          expect(comparable(reloaded, event)).toEqual(comparable(now, event))
          if (seen % 3 === 0) reloaded = now
        }
        if (seen === chosen.stop) stopping.abort()
        if (left-- <= 0 && now.status === 'idle') {
          died = true
          break
        }
      }
      session = Session.parse(Session.stringify(stream.session))
      if (!died) break
      // Another process goes on. Nobody tells those who follow.
      stream = Session.streamNext(engine, session, undefined, options)
    }
    if (session.status === 'completed' && turn > 3) break
  }
  return seen
}

test('the events of a run, folded into the view before it, give the view of the session after every event', async () => {
  let seen = 0
  await fc.assert(
    fc.asyncProperty(plan, async (chosen) => {
      seen += await check(chosen, [])
    }),
    { numRuns: 60 },
  )
  expect(seen).toBeGreaterThan(1000)
})

test('the same with everything included that is in events', async () => {
  const include = viewIncludes.filter((name) => name !== 'late_results' && name !== 'system')
  await fc.assert(
    fc.asyncProperty(plan, async (chosen) => {
      await check(chosen, include)
    }),
    { numRuns: 20 },
  )
})

// What is done after the stop: the call is approved, denied, or expires, the user says something, or the run goes on.
test.each([0, 1, 2, 3, 4])(
  'an answer of thoughts alone, after which the run is stopped, keeps its place when the session goes on (%i)',
  async (choice) => {
    await check(
      {
        answers: [[{ name: 'pay' }], [{ thought: 'hm' }], []],
        failing: [],
        ends: [],
        name: undefined,
        choices: [0, 2, choice, 0, 0, 0, 0, 0],
        lives: [],
        stop: 8,
      },
      [],
    )
  },
)
