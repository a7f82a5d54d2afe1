import { HttpAgent } from '@ag-ui/client'
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest'
import { askUser, createEngine, messageText, tool } from '../../src/index.ts'
import { createRuns, type Runs } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { fake, type Script } from '../../src/testing.ts'
import { sendAgUi, toAgUiResponse, type AgUiInput } from '../../src/ui.ts'

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
]

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

/** The real client at runs in this process. */
function open(): {
  readonly agent: HttpAgent
  readonly runs: Runs
  readonly say: (text: string) => Promise<void>
} {
  const runs = createRuns({ engine: createEngine({ adapter, tools }), store: memoryStore() })
  const agent = new HttpAgent({
    url: 'http://localhost/agent',
    threadId: 'ada',
    fetch: async (url, init) =>
      sendAgUi(runs, 'ada', (await new Request(url, init).json()) as AgUiInput),
  })
  let count = 0
  const say = async (content: string): Promise<void> => {
    agent.addMessage({ id: `u${++count}`, role: 'user', content })
    await agent.runAgent()
  }
  return { agent, runs, say }
}

const statusOf = async (runs: Runs): Promise<string | undefined> =>
  (await runs.get('ada'))?.session.status

function results({ messages }: HttpAgent): readonly string[] {
  return messages.flatMap((message) =>
    message.role === 'tool' ? `${message.toolCallId} ${JSON.stringify(message.content)}` : [],
  )
}

describe('sendAgUi', () => {
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
    expect(other.pendingInterrupts).toMatchObject([{ id: 'r', metadata: { input: { of: 'r' } } }])
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
      await agent.runAgent({ resume: [{ interruptId: 'q', status, ...(payload && { payload }) }] })
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
    expect(await again.text()).toContain('"interrupts":[{"id":"p"')
    const empty = {
      threadId: 'ada',
      runId: 'r',
      messages: [{ role: 'user', id: 'u', content: [] }],
    }
    expect((await sendAgUi(runs, 'ada', empty)).status).toBe(400)
  })
})
