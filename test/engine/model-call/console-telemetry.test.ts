import { afterEach, expect, test, vi } from 'vitest'
import {
  AdapterError,
  chat,
  consoleTelemetry,
  createEngine,
  generate,
  Session,
  tool,
  type ChatAdapter,
} from '../../../src/index.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  vi.restoreAllMocks()
})

const slow: Script = [
  ['text', 'a secret answer'],
  ['delay', 40],
  ['usage', { inputTokens: 9, outputTokens: 2 }],
  ['finish', 'stop'],
]

const look = tool({
  name: 'look',
  description: 'Looks something up.',
  schema: { type: 'object' },
  handler: () => 'found',
})

function ids(): (kind: string) => string {
  let made = 0
  return (kind) => (kind === 'span' ? `span${made++}` : `${kind}-1`)
}

const engineOf = (scripts: readonly Script[]) =>
  createEngine({
    adapter: fake({ scripts }),
    model: 'm',
    tools: [look],
    clock: virtualClock(),
    newId: ids(),
    retry: { jitterMs: 0 },
  })

/** The lines that are written. */
function listen(options: Parameters<typeof consoleTelemetry>[0] = {}): readonly string[] {
  const lines: string[] = []
  stops.push(consoleTelemetry({ ...options, write: (line) => lines.push(line) }))
  return lines
}

test('a pretty line is indented like its span, and begins with its tree', async () => {
  const lines = listen({ pretty: true })
  const failing: Script = [['preflight_error', 'timeout', {}]]
  await chat(engineOf([[['tool_call', { id: 'c1', name: 'look' }]], failing, slow]), 'go')
  expect(lines).toEqual([
    'span chat fake m',
    'span   step',
    'span     stream fake m',
    'span     ✓ stream fake m 0 ms, first chunk 0 ms, tool_calls',
    'span     tool look',
    'span     ✓ tool look 0 ms',
    'span   ✓ step 0 ms, tool_calls',
    'span   step',
    'span     stream fake m',
    'span       retry fake m: timeout, attempt 2 in 500 ms',
    'span     ✓ stream fake m 540 ms, first chunk 0 ms, 9 in, 2 out, stop',
    'span   ✓ step 540 ms, 9 in, 2 out, stop',
    'span ✓ chat fake m 540 ms, 9 in, 2 out, completed',
  ])
})

test('a failure is told with its reason', async () => {
  const adapter: ChatAdapter = {
    provider: 'failing',
    stream: () => {
      throw new AdapterError('invalid_request', 'no such model')
    },
  }
  const failing = createEngine({ adapter, clock: virtualClock(), newId: ids() })
  const lines = listen({ pretty: true })
  await generate(failing, 'go').catch(() => undefined)
  expect(lines.slice(-2)).toEqual([
    'span   ✗ stream failing 0 ms, invalid_request: no such model',
    'span ✗ generate failing 0 ms, invalid_request: no such model',
  ])
})

test('otherwise each event is a line of JSON, without content unless it is asked for', async () => {
  const lines = listen()
  const open = listen({ content: true })
  await Session.start(engineOf([slow]), 'a secret question', { id: 's1' })
  const events = lines.map((line): unknown => JSON.parse(line))
  expect(events).toHaveLength(6)
  expect(events[0]).toMatchObject({ name: 'chat', phase: 'start', sessionId: 's1' })
  expect(lines.join('')).not.toContain('secret')
  expect(open.join('')).toContain('a secret answer')
})

test('lines go to the console', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  stops.push(consoleTelemetry({ pretty: true }))
  await generate(engineOf([slow]), 'go')
  expect(log).toHaveBeenCalledTimes(4)
})

test('unknown options are refused by name', () => {
  // A caller without types may pass anything.
  const options = { prety: true } as object
  expect(() => consoleTelemetry(options)).toThrow('pretty')
})
