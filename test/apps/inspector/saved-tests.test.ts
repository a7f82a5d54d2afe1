import { expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  messageText,
  tool,
  type Engine,
  type ModelRequest,
  type Tool,
} from '../../../src/index.ts'
import type { SavedTest } from '../../../src/inspector.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'
import { installed } from '../cli/installed.ts'
import { desk, detailOf, forked, pathOf, type Desk } from './support.ts'

const call = (id: string, name: string): Script => [['tool_call', { id, name, arguments: {} }]]

const look: Tool = tool({
  name: 'look',
  description: 'Looks.',
  schema: { type: 'object' },
  handler: () => 'cloudy',
})

const others: readonly Tool[] = [
  tool({
    name: 'refund',
    description: 'Pays back.',
    schema: { type: 'object' },
    needsApproval: true,
    handler: () => 'paid',
  }),
  tool({
    name: 'seat',
    description: 'Asks.',
    schema: { type: 'object' },
    handler: () => askUser('Which seat?'),
  }),
  tool({ name: 'office', description: 'Forms.', schema: { type: 'object' }, manual: true }),
]

/** An engine that looks first, then does what the user says, and says "over" after a result of it. */
function engineOf(clock: VirtualClock): Engine {
  const adapter = fake({
    script: ({ messages }: ModelRequest): Script => {
      const said = messages.findLast(({ role }) => role === 'user')
      const name = said === undefined ? '' : messageText(said)
      const answers = messages.filter(({ role }) => role === 'assistant').length
      if (answers === 0) return call('c0', 'look')
      if (answers === 1 && name === 'clerk') {
        return [['tool_call', { id: 'c1', name: 'clerk', arguments: { prompt: 'go' } }]]
      }
      return answers === 1 ? call('c1', name) : [['text', 'over']]
    },
  })
  const inside = createEngine({
    adapter: fake({ script: [['tool_call', { id: 'i1', name: 'refund', arguments: {} }]] }),
    tools: others,
    clock,
  })
  const clerk = agentTool({ name: 'clerk', description: 'A clerk.', engine: inside })
  return createEngine({ adapter, model: 'small-1', tools: [look, ...others, clerk], clock })
}

async function savedOf(own: Desk, id: string): Promise<SavedTest> {
  const response = await own.post(pathOf(id, 'test'), {})
  return (await response.json()) as SavedTest
}

function textOf({ files }: SavedTest): string {
  return files[1]?.text ?? ''
}

test('the test of a session passes and ends as the session rests: stopped, waiting, or in the agent of a call', async () => {
  const clock = virtualClock({ auto: true })
  const own = desk({ clock, runsEngine: engineOf(clock) })
  const place = await installed()
  const saved = new Map<string, SavedTest>()
  for (const name of ['refund', 'seat', 'office', 'clerk']) {
    await own.runs.send(name, name)
    await own.runs.wait(name)
    saved.set(name, await savedOf(own, name))
  }
  // Stopped in the middle of an answer.
  const slow = virtualClock()
  const script: Script = [
    ['text', 'It is'],
    ['delay', 60_000],
  ]
  const halted = desk({
    clock: slow,
    runsEngine: createEngine({ adapter: fake({ script }), clock: slow }),
  })
  await halted.runs.send('stopped', 'go')
  const log = halted.runs.follow('stopped')[Symbol.asyncIterator]()
  for (let read = await log.next(); read.value?.event.type !== 'text_delta';)
    read = await log.next()
  await halted.runs.stop('stopped')
  await halted.runs.wait('stopped')
  expect((await detailOf(halted, 'stopped')).session.status).toBe('halted')
  saved.set('stopped', await savedOf(halted, 'stopped'))
  const ends = [...saved].map(([name, one]) => [name, /toEndAs\('(\w+)'\)/.exec(textOf(one))?.[1]])
  expect(Object.fromEntries(ends)).toEqual({
    refund: 'approval',
    seat: 'ask_user',
    office: 'manual_tool_calls',
    clerk: 'approval',
    stopped: 'cancelled',
  })
  expect(
    textOf(saved.get('stopped') ?? { files: [], written: false, tools: 'recorded' }),
  ).toContain('// The run was stopped here.')
  for (const { files } of saved.values()) {
    for (const { path, text } of files) place.write(path, text)
  }
  const names = [...saved.values()].map(({ files }) => files[1]?.path ?? '')
  const { code, stdout } = await place.node(['--test', '--test-reporter=tap', ...names])
  expect(
    stdout.split('\n').filter((line) => /^\s*not ok/.test(line)),
    stdout,
  ).toEqual([])
  expect(code).toBe(0)
})

test('the test of a fork has the part that it shares with its origin, and the changed result', async () => {
  const clock = virtualClock({ auto: true })
  const own = desk({ clock, runsEngine: engineOf(clock) })
  await own.runs.send('trip', 'look')
  await own.runs.wait('trip')
  const { lastEventId } = await detailOf(own, 'trip')
  const id = await forked(own, 'trip', {
    event: lastEventId,
    changes: { toolResult: { toolCallId: 'c0', text: 'sunny' } },
    engine: { type: 'fake', script: ['Take a hat.'] },
  })
  const { files } = await savedOf(own, id)
  expect(files[0]?.text).toContain('sunny')
  expect(files[1]?.text).toContain(".toCall('look', {})\n    .toSay('Take a hat.')")
  const place = await installed()
  for (const { path, text } of files) place.write(path, text)
  const { code, stdout } = await place.node(['--test', files[1]?.path ?? ''])
  expect([code, stdout]).toEqual([0, expect.stringContaining('pass 1')])
})

test('the test runs the tools of the engine that was given by a module, unless another model would be asked', async () => {
  const clock = virtualClock({ auto: true })
  const engine = engineOf(clock)
  const named: string[] = []
  const own = desk({
    clock,
    runsEngine: engine,
    engine,
    engineModule: (file) => {
      named.push(file)
      return './agent.mjs#mine'
    },
  })
  for (const name of ['refund', 'clerk']) {
    await own.runs.send(name, name)
    await own.runs.wait(name)
  }
  const made = await savedOf(own, 'refund')
  expect(made.tools).toBe('engine')
  expect(named).toEqual(['refund.test.mjs'])
  expect(textOf(made)).toContain("import { mine as own } from './agent.mjs'")
  // The agent would ask its own model.
  expect(await savedOf(own, 'clerk')).toMatchObject({ tools: 'recorded' })
  const place = await installed()
  for (const { path, text } of made.files) place.write(path, text)
  const agent = (handler: string): string => `import { createEngine, tool } from 'allm-ts'
const refund = tool({ name: 'refund', description: 'Pays.', schema: {}, handler: () => 'paid' })
const look = tool({ name: 'look', description: 'Looks.', schema: {}, handler: ${handler} })
export const mine = createEngine({ tools: [look, refund] })
`
  place.write('agent.mjs', agent("() => 'fine'"))
  expect((await place.node(['--test', 'refund.test.mjs'])).code).toBe(0)
  place.write('agent.mjs', agent("() => { throw new Error('broken') }"))
  expect((await place.node(['--test', 'refund.test.mjs'])).code).toBe(1)
})
