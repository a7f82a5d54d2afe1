import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  askUser,
  createEngine,
  fail,
  halt,
  tool,
  user,
  type ChatAdapter,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { crashAtEveryEvent, fake, virtualClock, type Script } from '../../../src/testing.ts'

const messages = [user('go')]

/** A tool that answers at once, and one that answers later; both say what they were given. */
const now = (name: string, extra: Partial<Tool> = {}): Tool => ({
  ...tool({
    name,
    description: `the tool ${name}`,
    schema: { type: 'object' },
    handler: (args) => ({ [name]: args }),
  }),
  ...extra,
})

const later = (name: string, extra: Partial<Tool> = {}): Tool => ({
  ...tool({
    name,
    description: `the tool ${name}`,
    schema: { type: 'object' },
    handler: async (args) => {
      await Promise.resolve()
      return { [name]: args }
    },
  }),
  ...extra,
})

const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: { id } },
]

const done: Script = [
  ['text', 'all '],
  ['text', 'done'],
  ['usage', { inputTokens: 3, outputTokens: 2 }],
  ['finish', 'stop'],
]

describe('a run cut after every event and resumed elsewhere ends as the uncut run', () => {
  test('plain text', async () => {
    const report = await crashAtEveryEvent({ scripts: [done], messages })
    expect(report).toEqual({ status: 'completed', events: 7, cuts: 15, toolRuns: {} })
  })

  test('text with reasoning that has to be echoed', async () => {
    const scripts: Script[] = [
      [['reasoning', 'hm', { opaque: { signature: 'abc' } }], ['text', 'so'], call('c1', 'a')],
      done,
    ]
    const report = await crashAtEveryEvent({ scripts, messages, tools: [now('a')] })
    expect(report.toolRuns).toEqual({ a: 1 })
  })

  test.each([
    ['one that answers at once', now('a')],
    ['one that answers later', later('a')],
    ['one that may run twice', later('a', { idempotent: true })],
  ])('one tool: %s', async (_what, a) => {
    const scripts = [[['text', 'hm'] as const, call('c1', 'a')], done]
    const report = await crashAtEveryEvent({ scripts, messages, tools: [a] })
    expect(report.toolRuns).toEqual({ a: 1 })
    expect(report.cuts).toBe(2 * report.events + 1)
  })

  test.each([true, false])('five parallel tools, idempotent %s', async (idempotent) => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const scripts = [names.map((name, index) => call(`c${index}`, name)), done]
    const tools = names.map((name, index) =>
      index % 2 === 0 ? later(name, { idempotent }) : now(name, { idempotent }),
    )
    const report = await crashAtEveryEvent({ scripts, messages, tools })
    expect(report.toolRuns).toEqual({ a: 1, b: 1, c: 1, d: 1, e: 1 })
  })

  test('several turns, with failures, unknown tools and bad arguments among them', async () => {
    const strict = tool({
      name: 'strict',
      description: 'wants a number',
      schema: z.object({ n: z.number() }),
      handler: ({ n }) => n + 1,
    })
    const broken = tool({
      name: 'broken',
      description: 'fails',
      schema: { type: 'object' },
      handler: () => fail('no luck'),
    })
    const scripts: Script[] = [
      [call('c1', 'strict'), call('c2', 'nowhere'), call('c3', 'broken')],
      [['tool_call', { id: 'c4', name: 'strict', arguments: { n: 1 } }]],
      [['text', 'cut'], call('c5', 'strict'), ['finish', 'length']],
    ]
    const report = await crashAtEveryEvent({ scripts, messages, tools: [strict, broken] as Tool[] })
    expect(report.toolRuns).toEqual({ strict: 1, broken: 1 })
  })

  test('a question to the user in the middle, beside another one and a tool that just runs', async () => {
    const ask = tool({
      name: 'ask',
      description: 'asks the user',
      schema: { type: 'object' },
      handler: (_args, { toolCall }) => askUser(`what about ${toolCall.id}?`),
    })
    const scripts = [[call('c1', 'ask'), call('c2', 'a'), call('c3', 'ask')], done]
    const asked: string[] = []
    const report = await crashAtEveryEvent({
      scripts,
      messages,
      tools: [ask, later('a')],
      onSuspend: ({ pendingQuestion = '' }) => {
        asked.push(pendingQuestion)
        return { reply: `answer to ${pendingQuestion}` }
      },
    })
    expect(report.toolRuns).toEqual({ ask: 2, a: 1 })
    expect(new Set(asked)).toEqual(new Set(['what about c1?', 'what about c3?']))
  })

  test('a handler that asks one question after the other, and acts then', async () => {
    const book = tool({
      name: 'book',
      description: 'asks twice',
      schema: { type: 'object' },
      handler: async (_args, { answer }) => {
        if (answer === undefined) return askUser('Where?', { resume: true })
        return answer === 'Rome' ? askUser('When?', { resume: true }) : { booked: answer }
      },
    })
    const report = await crashAtEveryEvent({
      scripts: [[call('c1', 'book')], done],
      messages,
      tools: [book],
      onSuspend: ({ pendingQuestion }) => ({
        reply: pendingQuestion === 'Where?' ? 'Rome' : 'May',
      }),
    })
    expect(report.toolRuns).toEqual({ book: 3 })
  })

  test('calls that the caller answers, all of them in manual mode', async () => {
    const scripts = [[call('c1', 'a'), call('c2', 'a')], [call('c3', 'a')], done]
    const report = await crashAtEveryEvent({
      scripts,
      messages,
      tools: [now('a')],
      options: { mode: 'manual' },
      onSuspend: ({ pendingToolCalls }) => ({
        toolResults: pendingToolCalls.map(({ id }) => ({
          toolCallId: id,
          content: `by hand ${id}`,
        })),
      }),
    })
    expect(report.toolRuns).toEqual({})
  })

  test('one manual tool beside one that runs and one that asks', async () => {
    const ask = tool({
      name: 'ask',
      description: 'asks the user',
      schema: { type: 'object' },
      handler: () => askUser('sure?'),
    })
    const scripts = [[call('c1', 'ask'), call('c2', 'hand'), call('c3', 'a')], done]
    const report = await crashAtEveryEvent({
      scripts,
      messages,
      tools: [ask, now('hand', { manual: true }), later('a')],
      onSuspend: ({ status, pendingToolCalls }) =>
        status === 'awaiting_user'
          ? { reply: 'yes' }
          : { toolResults: pendingToolCalls.map(({ id }) => ({ toolCallId: id, content: 'ok' })) },
    })
    expect(report.toolRuns).toEqual({ ask: 1, a: 1 })
  })

  test('a handler that halts the loop', async () => {
    const stop = tool({
      name: 'stop',
      description: 'halts',
      schema: { type: 'object' },
      handler: () => halt('found', { answer: 42 }),
    })
    const scripts = [[call('c1', 'stop'), call('c2', 'a')]]
    const report = await crashAtEveryEvent({ scripts, messages, tools: [stop, later('a')] })
    expect(report.toolRuns).toEqual({ stop: 1, a: 1 })
  })

  test('structured finalize, in both passes', async () => {
    const scripts: Script[] = [
      [call('c1', 'a')],
      done,
      [
        ['text', '{"n":'],
        ['text', '1}'],
      ],
    ]
    const report = await crashAtEveryEvent({
      scripts,
      messages,
      tools: [later('a')],
      options: {
        structuredFinalize: true,
        responseFormat: { type: 'json_schema', name: 'out', schema: {}, strict: true },
      },
    })
    expect(report.toolRuns).toEqual({ a: 1 })
  })

  test('an error in the middle that is tried again, and attempts that fail before the first event', async () => {
    const scripts: Script[] = [
      [['preflight_error', 'rate_limited', { retryAfterMs: 90 }]],
      [call('c1', 'a')],
      [
        ['text', 'half'],
        ['error', 'provider_unavailable'],
      ],
      [['preflight_error', 'timeout', {}]],
      done,
    ]
    const clock = virtualClock()
    const report = await crashAtEveryEvent({ scripts, messages, tools: [later('a')], clock })
    expect(report.toolRuns).toEqual({ a: 1 })
  })

  test.each([undefined, virtualClock()])(
    'a handler that reads a file, on the clock %#',
    async (clock) => {
      const read = tool({
        name: 'read',
        description: 'reads a file',
        schema: { type: 'object' },
        handler: async () => (await readFile('package.json', 'utf8')).length,
      })
      const scripts = [[call('c1', 'read'), call('c2', 'read')], done]
      const report = await crashAtEveryEvent({ scripts, messages, tools: [read], clock })
      expect(report.toolRuns).toEqual({ read: 2 })
    },
  )

  test('a tool error that halts the loop', async () => {
    const broken = tool({
      name: 'broken',
      description: 'fails',
      schema: { type: 'object' },
      handler: () => fail('no luck'),
    })
    const scripts = [[call('c1', 'broken'), call('c2', 'a')], done]
    const report = await crashAtEveryEvent({
      scripts,
      messages,
      tools: [broken, later('a')],
      options: { onToolError: 'halt' },
    })
    expect(report.toolRuns).toEqual({ broken: 1, a: 1 })
  })
})

test.each([
  [{ contxt: 1 }, 'unknown key contxt; known keys are scripts, engine, tools, messages, options'],
  [{ onSuspnd: () => ({ reply: '' }) }, 'unknown key onSuspnd; did you mean onSuspend?'],
  [{ context: { db: 1 } }, 'unknown key context; did you mean options: { context }?'],
])('an unknown key is refused: %o', async (more, problem) => {
  const scenario = { scripts: [done], messages, ...more }
  await expect(crashAtEveryEvent(scenario)).rejects.toThrow(problem)
})

describe('a rehearsal that proves nothing', () => {
  const broken = tool({
    name: 'broken',
    description: 'fails',
    schema: { type: 'object' },
    handler: () => fail('no luck'),
  })

  test('because every tool call failed rejects, and says why they failed', async () => {
    const scripts = [[call('c1', 'broken'), call('c2', 'nowhere')], done]
    const rehearsal = crashAtEveryEvent({ scripts, messages, tools: [broken] })
    await expect(rehearsal).rejects.toThrow(/broken: no luck; nowhere: there is no tool nowhere/)
    await expect(rehearsal).rejects.toThrow(/allowToolErrors/)
  })

  test.each([{ allowToolErrors: true }, { options: { onToolError: () => ({ continue: 0 }) } }])(
    'is meant with %o, and the report has the errors',
    async (meant) => {
      const scripts = [[call('c1', 'broken')], done]
      const report = await crashAtEveryEvent({ scripts, messages, tools: [broken], ...meant })
      expect(report).toMatchObject({
        toolErrors: [{ toolName: 'broken', toolCallId: 'c1', message: 'no luck' }],
      })
    },
  )

  test('because it ran out of scripts rejects', async () => {
    const scripts = [[call('c1', 'a')]]
    const rehearsal = crashAtEveryEvent({ scripts, messages, tools: [now('a')] })
    await expect(rehearsal).rejects.toThrow(/scripts are too few/)
  })

  test('because it left scripts rejects', async () => {
    const rehearsal = crashAtEveryEvent({ scripts: [done, done, done], messages })
    await expect(rehearsal).rejects.toThrow(
      'scripts are too many: the run ended in completed and left 2',
    )
  })

  test('because the run failed rejects, unless that is meant', async () => {
    const scripts: Script[] = [
      [
        ['text', 'half'],
        ['error', 'provider_unavailable'],
      ],
    ]
    const rehearsal = crashAtEveryEvent({ scripts, messages })
    await expect(rehearsal).rejects.toThrow(/ended in an error.*provider_unavailable/)
    const report = await crashAtEveryEvent({ scripts, messages, endsIn: 'error' })
    expect(report.status).toBe('error')
  })

  test('because the run ended elsewhere rejects, and the report has the end', async () => {
    const stop = tool({
      name: 'stop',
      description: 'stops',
      schema: { type: 'object' },
      handler: () => halt('enough', 1),
    })
    const scenario = { scripts: [[call('c1', 'stop')]], messages, tools: [stop] }
    await expect(crashAtEveryEvent({ ...scenario, endsIn: 'completed' })).rejects.toThrow(
      'endsIn is completed, but the run ended in halted',
    )
    const { status, haltedReason } = await crashAtEveryEvent(scenario)
    expect({ status, haltedReason }).toEqual({ status: 'halted', haltedReason: 'enough' })
  })

  test('a tool that fails beside one that does not is in the report', async () => {
    const scripts = [[call('c1', 'broken'), call('c2', 'a')], done]
    const { toolErrors } = await crashAtEveryEvent({ scripts, messages, tools: [broken, now('a')] })
    expect(toolErrors).toMatchObject([{ toolName: 'broken', reason: 'handler_failed' }])
  })
})

describe('an onSuspend', () => {
  const pay = now('pay', { needsApproval: true })
  const rehearsed = (answer: unknown): Promise<unknown> =>
    crashAtEveryEvent({
      scripts: [[call('c1', 'pay')], done],
      messages,
      tools: [pay],
      onSuspend: () => answer as { reply: string }, // A caller without types may return anything.
    })

  test.each([{ approvals: {} }, { toolResults: [] }])(
    'that settles nothing with %o is refused',
    async (answer) => {
      await expect(rehearsed(answer)).rejects.toThrow(
        'onSuspend settled nothing, and the run waits in status awaiting_approval',
      )
    },
  )

  test.each([undefined, Promise.resolve({ reply: 'x' }), 'yes'])(
    'that returns %o is refused',
    async (answer) => {
      await expect(rehearsed(answer)).rejects.toThrow('onSuspend must return { reply }')
    },
  )
})

describe('handlers that change the world', () => {
  const files: string[] = []
  const write = now('write', { handler: () => files.push('a.txt') })
  const list = now('list', { handler: () => [...files], idempotent: true })
  const scenario = {
    scripts: [[call('c1', 'list')], [call('c2', 'write')], done],
    messages,
    tools: [write, list],
  }

  test('can be rehearsed when the world is put back before each run', async () => {
    const cuts: number[] = []
    const before = (cut: number): void => {
      cuts.push(cut)
      files.length = 0
    }
    const report = await crashAtEveryEvent({ ...scenario, before })
    expect(cuts).toEqual(Array.from({ length: report.cuts + 1 }, (_none, index) => index))
  })

  test('diverge otherwise, and the message says where and what to do', async () => {
    files.length = 0
    await expect(crashAtEveryEvent(scenario)).rejects.toThrow(
      /the run that was cut before it began \(moment 1 of [^]*put that back in `before`/,
    )
  })

  test('at one event diverge there', async () => {
    let runs = 0
    const flaky = now('flaky', { handler: () => ++runs, idempotent: true })
    const scripts = [[call('c1', 'flaky')], done]
    const rehearsal = crashAtEveryEvent({
      scripts,
      messages,
      tools: [flaky],
      before: () => {
        runs = 0
      },
    })
    await expect(rehearsal).rejects.toThrow(
      /cut after event \d+ \(tool_execution_completed\), before that was saved \(moment \d+ of \d+\) diverges: message 2/,
    )
  })
})

describe('an engine whose fake does not continue where the run was cut', () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    idempotent: true,
    handler: () => 'seen',
  })
  const scripts: Script[] = [
    [['tool_call', { id: 'c1', name: 'look' }]],
    [['tool_call', { id: 'c2', name: 'look', arguments: { again: true } }]],
    [['text', 'Seen twice.']],
  ]
  const engineOf = (adapter: ChatAdapter): Engine => createEngine({ adapter, tools: [look] })
  const rehearsal = (engine: (completedCalls: number) => Engine): Promise<unknown> =>
    crashAtEveryEvent({ engine, messages: 'Look.' })
  const messageOf = (engine: (completedCalls: number) => Engine): Promise<string> =>
    rehearsal(engine).then(() => 'green', String)

  test('that ignores its argument is told so, and how to mend it', async () => {
    const message = await messageOf(() => engineOf(fake({ scripts })))
    expect(message).toContain('diverges')
    expect(message).toContain('`engine` has no parameter')
    expect(message).toContain('the model began again with its first answer after 1 completed call')
    expect(message).toContain('fake({ scripts: scripts.slice(completedCalls) })')
  })

  test('that takes its argument and does not use it is told that the model began again', async () => {
    const message = await messageOf((_completedCalls) => engineOf(fake({ scripts })))
    expect(message).toContain('the model began again with its first answer')
    expect(message).toContain('fake({ scripts: scripts.slice(completedCalls) })')
    expect(message).not.toContain('no parameter')
  })

  test('that is made once, with all its scripts played, is told to make a new one each time', async () => {
    const shared = fake({ scripts })
    const message = await messageOf(() => engineOf(shared))
    expect(message).toContain('no script left')
    expect(message).toContain('a new fake each time')
    expect(message).toContain('fake({ scripts: scripts.slice(completedCalls) })')
    expect(message).not.toContain('`before`')
  })

  test('is no reason of a divergence that has another one', async () => {
    let looks = 0
    const counting = { ...look, handler: () => ++looks }
    const continued = (completedCalls: number): Engine =>
      createEngine({
        adapter: fake({ scripts: scripts.slice(completedCalls) }),
        tools: [counting],
      })
    const message = await messageOf(continued)
    expect(message).toContain('diverges')
    expect(message).toContain('`before`')
    expect(message).not.toContain('completedCalls')
  })

  test('has no hint in a rehearsal of scripts', async () => {
    let looks = 0
    const tools = [{ ...look, handler: () => ++looks }]
    const message = await crashAtEveryEvent({ scripts, tools, messages: 'Look.' }).then(
      () => 'green',
      String,
    )
    expect(message).not.toContain('completedCalls')
  })

  test('that continues by completedCalls survives every cut, and so does one that answers by the request', async () => {
    await rehearsal((completedCalls) => engineOf(fake({ scripts: scripts.slice(completedCalls) })))
    const byRequest = fake({
      script: ({ messages }) =>
        scripts[messages.filter(({ role }) => role === 'assistant').length] ?? [],
    })
    await rehearsal(() => engineOf(byRequest))
  })
})
