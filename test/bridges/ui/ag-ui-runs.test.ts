import { HttpAgent } from '@ag-ui/client'
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest'
import { askUser, createEngine, messageText, tool } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { sendAgUi, toAgUiResponse, type AgUiInput } from '../../../src/ui.ts'

// Whatever the client finds odd about an event, it says in a warning.
let warned: MockInstance
beforeEach(() => {
  warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
})
afterEach(() => {
  expect(warned.mock.calls).toEqual([])
  warned.mockRestore()
})

const schema = { type: 'object' } as const
const tools = [
  tool({ name: 'pay', description: '', schema, needsApproval: true, handler: () => 'paid' }),
  tool({ name: 'stamp', description: '', schema, manual: true }),
  tool({ name: 'ask', description: '', schema, handler: () => askUser('Which one?') }),
  tool({ name: 'hold', description: '', schema, handler: () => held }),
]
/** What the tool `hold` waits for. */
let held: Promise<string>

/** A model that makes the calls `name:id` of the user's words. */
const adapter = fake({
  script: ({ messages }): Script => {
    const last = messages.at(-1)
    if (last === undefined || last.role === 'tool') return [['text', 'Done.']]
    const words = messageText(last).split(' ')
    if (!words[0]?.includes(':')) return [['text', 'Hi.']]
    return words.map((word) => {
      const [name = '', id = ''] = word.split(':')
      return ['tool_call', { id, name, arguments: { of: id } }]
    })
  },
})

/** The real client at runs in this process. `another` is one more, with its own messages. */
function open(model = adapter): {
  readonly agent: HttpAgent
  readonly runs: Runs
  readonly say: (text: string) => Promise<void>
  readonly another: (initialMessages: HttpAgent['messages']) => HttpAgent
} {
  const engine = createEngine({ adapter: model, tools, retry: false })
  const runs = createRuns({ engine, store: memoryStore() })
  const another = (initialMessages: HttpAgent['messages']): HttpAgent =>
    new HttpAgent({
      url: 'http://localhost/agent',
      threadId: 'ada',
      initialMessages,
      fetch: async (url, init) =>
        sendAgUi(runs, 'ada', (await new Request(url, init).json()) as AgUiInput, {
          authorize: () => true,
        }),
    })
  const agent = another([])
  let count = 0
  const say = async (content: string): Promise<void> => {
    agent.addMessage({ id: `u${++count}`, role: 'user', content })
    await agent.runAgent()
  }
  return { agent, runs, say, another }
}

const statusOf = async (runs: Runs): Promise<string | undefined> =>
  (await runs.get('ada'))?.session.status

function results({ messages }: HttpAgent): readonly string[] {
  return messages.flatMap((message) =>
    message.role === 'tool' ? `${message.toolCallId} ${JSON.stringify(message.content)}` : [],
  )
}

/** What a client shows: texts, calls and results. */
function shown({ messages }: HttpAgent): readonly string[] {
  return messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    const { content } = message
    const words = [typeof content === 'string' ? content : '', ...calls.map(({ id }) => id)]
    return `${message.role}: ${words.filter(Boolean).join(' ')}`
  })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('sendAgUi answers a post again', () => {
  const whole = ['user: hold:h', 'assistant: h', 'tool: held', 'assistant: Done.']
  const words = [{ id: 'u1', role: 'user', content: 'hold:h' }] as const

  test.each([
    ['the same words', [...words]],
    ['no messages', []],
    ['a part of the answer', [...words, { id: 'a', role: 'assistant', content: 'Do' } as const]],
  ])('while the run is under way, and at rest: %s', async (_name, messages) => {
    let release = (_value: string): void => undefined
    held = new Promise((resolve) => {
      release = resolve
    })
    const { agent, say, another } = open()
    const saying = say('hold:h')
    while (shown(agent).length < 2) await turn()
    const joined = another([...messages])
    const joining = joined.runAgent()
    while (shown(joined).length < 2) await turn()
    release('held')
    await Promise.all([saying, joining])
    expect(shown(agent)).toEqual(whole)
    expect(shown(joined)).toEqual(whole)
    const late = another([...messages])
    await late.runAgent()
    expect(shown(late)).toEqual(whole)
    // What it was given can be posted again, and is not said twice.
    await late.runAgent()
    expect(shown(late)).toEqual(whole)
    late.addMessage({ id: 'u2', role: 'user', content: 'hello' })
    await late.runAgent()
    expect(shown(late)).toEqual([...whole, 'user: hello', 'assistant: Hi.'])
    const history = another([])
    await history.runAgent()
    expect(shown(history)).toEqual(shown(late))
  })

  test('reasoning is there once, and in its place', async () => {
    const script: Script = [
      ['reasoning', 'Hm.'],
      ['text', 'Hi.'],
    ]
    const { agent, say, another } = open(fake({ scripts: [script, script] }))
    const whole = ['user: one', 'reasoning: Hm.', 'assistant: Hi.']
    await say('one')
    await agent.runAgent()
    expect(shown(agent)).toEqual(whole)
    await say('two')
    await agent.runAgent()
    const opened = another([])
    await opened.runAgent()
    for (const client of [agent, opened]) {
      expect(shown(client)).toEqual([...whole, 'user: two', ...whole.slice(1)])
    }
  })

  test('after words that others have followed it refuses them', async () => {
    const { say, runs } = open()
    await say('hello')
    await say('and on')
    const messages = [{ id: 'u1', role: 'user', content: 'hello' }]
    const again = await sendAgUi(runs, 'ada', { threadId: 'ada', runId: 'r', messages })
    expect([again.status, await again.text()]).toEqual([
      409,
      'the message was sent before, and a run does not go back: it cannot be edited or answered again; send a new message',
    ])
  })

  test.each([
    ['the same words', 1],
    ['what it has of the answer', 2],
  ])('and a run that failed goes on: %s', async (_name, count) => {
    const scripts: Script[] = [
      [
        ['text', 'Half '],
        ['error', 'invalid_request'],
      ],
      [['text', 'Whole']],
    ]
    const { agent, runs, say, another } = open(fake({ scripts }))
    await say('hi').catch(() => undefined)
    expect(await statusOf(runs)).toBe('error')
    // A client that looks at it is told.
    const looks = await sendAgUi(runs, 'ada', { threadId: 'ada', runId: 'r', messages: [] })
    expect(await looks.text()).toContain('RUN_ERROR')
    const again = another(agent.messages.slice(0, count))
    await again.runAgent()
    expect(await statusOf(runs)).toBe('completed')
    expect(shown(again)).toEqual(['user: hi', 'assistant: Whole'])
  })
})

describe('sendAgUi', () => {
  test('takes words without an id each time, because nothing tells them apart', async () => {
    const { runs } = open()
    for (const content of ['one', 'two']) {
      const input = { threadId: 'ada', runId: 'r', messages: [{ role: 'user', content }] }
      const response = await sendAgUi(runs, 'ada', input)
      expect(response.status).toBe(200)
      await response.text()
    }
    expect((await runs.get('ada'))?.session.thread.messages).toHaveLength(4)
  })

  test('takes all decisions of one post', async () => {
    const { agent, runs, say } = open()
    await say('pay:p pay:r')
    const [first, second] = agent.pendingInterrupts
    await agent.runAgent({
      resume: [
        { interruptId: first?.id ?? '', status: 'resolved', payload: { approved: true } },
        {
          interruptId: second?.id ?? '',
          status: 'resolved',
          payload: { approved: false, reason: 'too dear' },
        },
      ],
    })
    expect(await statusOf(runs)).toBe('completed')
    expect(agent.pendingInterrupts).toEqual([])
    expect(results(agent).toSorted()).toEqual([
      'p "paid"',
      String.raw`r "{\"error\":\"the call was denied\"}"`,
    ])
    expect(JSON.stringify((await runs.get('ada'))?.session.thread)).toContain('too dear')
  })

  test('refuses an approval whose payload does not decide, and nothing is decided', async () => {
    const { agent, runs, say } = open()
    await say('pay:p')
    const [interrupt] = agent.pendingInterrupts
    for (const payload of ['yes', undefined, { approved: 'yes' }]) {
      const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload }]
      const { messages } = agent
      const input = { threadId: 'ada', runId: 'r', messages, resume }
      const response = await sendAgUi(runs, 'ada', input)
      expect(response.status).toBe(400)
      expect(await response.text()).toMatch(/the payload for p must be \{ approved: true \} or/)
    }
    expect(await statusOf(runs)).toBe('awaiting_approval')
  })

  test('tells what still waits, and does not announce its call again', async () => {
    const { agent, runs, say } = open()
    await say('pay:p pay:r')
    const sent = await runs.approve('ada', 'p')
    const other = new HttpAgent({
      url: 'http://localhost/agent',
      threadId: 'ada',
      initialMessages: agent.messages,
      fetch: async (url, init) => {
        const input = (await new Request(url, init).json()) as AgUiInput
        return toAgUiResponse(runs.follow('ada', { after: sent.lastEventId }), input)
      },
    })
    await other.runAgent()
    expect(other.pendingInterrupts).toMatchObject([
      { toolCallId: 'r', metadata: { input: { of: 'r' } } },
    ])
    const calls = other.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : [],
    )
    expect(calls.map(({ function: { arguments: args } }) => args)).toEqual([
      '{"of":"p"}',
      '{"of":"r"}',
    ])
  })

  test('gives the result that a client has for its call, and it is not the words of the user', async () => {
    const { agent, runs, say } = open()
    await say('stamp:g')
    agent.addMessage({ id: 't', role: 'tool', toolCallId: 'g', content: '{"y":2}' })
    await agent.runAgent()
    expect(await statusOf(runs)).toBe('completed')
    const { messages } = (await runs.get('ada'))?.session.thread ?? { messages: [] }
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' })
  })

  test.each([
    ['resolved', 'red', 'q "red"'],
    ['cancelled', undefined, 'q "The user dismissed the question: cancelled"'],
  ] as const)(
    'answers a question, whose call has its result (%s)',
    async (status, payload, told) => {
      const { agent, runs, say } = open()
      await say('ask:q')
      const interruptId = agent.pendingInterrupts[0]?.id ?? ''
      await agent.runAgent({ resume: [{ interruptId, status, ...(payload && { payload }) }] })
      expect(await statusOf(runs)).toBe('completed')
      expect(results(agent)).toEqual([told])
    },
  )

  test('with nothing new says what the run waits for', async () => {
    const { agent, say, runs } = open()
    await say('pay:p')
    const again = await sendAgUi(runs, 'ada', {
      threadId: 'ada',
      runId: 'r',
      messages: agent.messages,
    })
    expect(await again.text()).toMatch(/"interrupts":\[\{"id":"[\w-]{16}","toolCallId":"p"/)
    const empty = {
      threadId: 'ada',
      runId: 'r',
      messages: [{ role: 'user', id: 'u', content: [] }],
    }
    expect((await sendAgUi(runs, 'ada', empty)).status).toBe(400)
  })
})

test('a client that has nothing is told how the answers before ended', async () => {
  const scripts: Script[] = [
    [
      ['text', 'Half'],
      ['finish', 'length'],
    ],
    [['finish', 'content_filter']],
    [['text', 'Hi.']],
  ]
  const { say, another } = open(fake({ scripts }))
  for (const words of ['one', 'two', 'three']) await say(words)
  const other = another([])
  await other.runAgent()
  expect(other.messages.filter(({ role }) => role === 'assistant')).toMatchObject([
    { content: 'Half', metadata: { finishReason: 'length' } },
    { content: '', metadata: { finishReason: 'content_filter' } },
    { content: 'Hi.' },
  ])
})
