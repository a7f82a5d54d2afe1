import { expect, test } from 'vitest'
import { eventFacts } from '../../../src/apps/cli/narrator.ts'
import { innerRuns } from '../../../src/engine/model-call/fold.ts'
import { applyEvent, createCollector, Session, streamChat } from '../../../src/index.ts'
import { collectEvents } from '../../../src/testing.ts'
import { toUiMessages } from '../../../src/ui.ts'
import { agentCall, call, nested, words, type Plan } from './support.ts'

const inner = (...steps: Plan['steps']): string => words({ steps: [[agentCall('c1', { steps })]] })

test('a delta of an agent copies no list, so that its cost does not grow with the history', async () => {
  const events = await collectEvents(streamChat(nested().outer, inner([call('x', 'note')])))
  let state = createCollector()
  let deltas = 0
  for (const event of events) {
    const next = applyEvent(state, event)
    const [before] = innerRuns(state)
    const [after] = innerRuns(next)
    const isDelta =
      event.type === 'tool_progress' &&
      JSON.stringify(event.data).startsWith('{"type":"text_delta"')
    if (isDelta && before !== undefined) {
      deltas++
      expect(after?.base).toBe(before.base)
      expect(after?.state.thread).toBe(before.state.thread)
      expect(after?.state.steps).toBe(before.state.steps)
      expect(next.thread).toBe(state.thread)
    }
    state = next
  }
  expect(deltas).toBeGreaterThan(1)
  expect(innerRuns(state)).toEqual([])
})

test('a page that is loaded again shows what an agent waits for', async () => {
  const { session } = await Session.start(nested().outer, inner([call('x', 'pay')]))
  const parts = toUiMessages(session).flatMap((message) => message.parts)
  expect(parts).toContainEqual(
    expect.objectContaining({ toolCallId: 'c1/x', state: 'approval-requested' }),
  )
})

test('a line of the command-line program names the agent and its event', async () => {
  const events = await collectEvents(streamChat(nested().outer, inner([call('x', 'note')])))
  const lines = events.filter(({ type }) => type === 'tool_progress').map(eventFacts)
  expect(lines[0]).toBe('agent › begins')
  expect(lines).toContain('agent › tool_execution_started note {}')
})
