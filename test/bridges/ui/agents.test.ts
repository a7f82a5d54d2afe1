import { HttpAgent } from '@ag-ui/client'
import { Chat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { describe, expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  messageText,
  streamChat,
  tool,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { toAgUiResponse, toUiMessages, toUiMessageStream, type AgUiIds } from '../../../src/ui.ts'
import { openRunsDesk, type Desk } from './desk.ts'
import { approvalIdOf, partsOf, readBy } from './readers.ts'

const schema = { type: 'object' } as const

const looks = tool({ name: 'look', description: '', schema, handler: () => 'seen' })
const asks = tool({
  name: 'ask',
  description: '',
  schema,
  handler: () => askUser('Which one?', { choices: ['this', 'that'] }),
})
const pays = tool({
  name: 'pay',
  description: '',
  schema,
  needsApproval: true,
  handler: () => 'paid',
})
const stamps = tool({ name: 'stamp', description: '', schema, manual: true })

/** A model that calls the tools that the user names, one after the other, and says how many results it has. */
const model = fake({
  script: ({ messages }): Script => {
    const words = messageText(messages[0] ?? { role: 'user', content: '' }).split(' ')
    const done = messages.filter(({ role }) => role === 'tool').length
    const name = words[done]
    if (name === undefined || name === '') return [['text', `${done} done.`]]
    const [tool = '', ...rest] = name.split(':')
    const args = { prompt: rest.join(':').replaceAll('+', ' ') }
    return [['tool_call', { id: `${tool}-${done}`, name: tool, arguments: args }]]
  },
})

const helper = (tools: readonly Tool[]): Tool =>
  agentTool({
    name: 'help',
    description: 'Helps.',
    engine: createEngine({ adapter: model, tools, retry: false }),
  })

/** An engine whose tool `help` is an agent, which has an agent `help` of its own. */
const engine: Engine = createEngine({
  adapter: model,
  tools: [helper([looks, asks, pays, stamps, helper([pays])])],
  retry: false,
})

/** A page of the AI SDK at runs, which sends what it decides by itself. */
function pageAt({ url }: Desk, messages: UIMessage[] = []): Chat<UIMessage> {
  const transport = new DefaultChatTransport({ api: url })
  const sendAutomaticallyWhen = (page: { messages: UIMessage[] }): boolean =>
    lastAssistantMessageIsCompleteWithApprovalResponses(page) ||
    lastAssistantMessageIsCompleteWithToolCalls(page)
  return new Chat<UIMessage>({ id: 'ada', transport, messages, sendAutomaticallyWhen })
}

/** The calls that a page shows, and its last text. */
function shown({ messages }: Pick<Chat<UIMessage>, 'messages'>): readonly string[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type === 'text') return part.text
      return 'toolCallId' in part ? `${part.toolCallId} ${part.state}` : []
    }),
  )
}

async function settled(chat: Chat<UIMessage>): Promise<void> {
  while (chat.status === 'submitted' || chat.status === 'streaming') {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const opened = (): Runs => createRuns({ engine, store: memoryStore() })

describe('an agent inside a call, in useChat', () => {
  test('shows what it does as progress of the call, told apart from what a handler reports', async () => {
    const reading = await readBy(6, toUiMessageStream(streamChat(engine, 'help:look')))
    expect(reading.errors).toEqual([])
    const told = reading.chunks.flatMap((chunk) =>
      chunk.type === 'data-progress' ? [chunk.data] : [],
    )
    expect(told).toContainEqual({
      toolCallId: 'help-0',
      toolName: 'help',
      inner: 'event',
      data: {
        type: 'tool_execution_started',
        id: 'look-0',
        name: 'look',
        arguments: { prompt: '' },
      },
    })
    expect(told.every(({ inner }) => inner === 'event')).toBe(true)
    // The last one stays in the message.
    expect(partsOf(reading, 'data-progress')).toHaveLength(1)
    expect(partsOf(reading, 'tool-help')).toMatchObject([{ state: 'output-available' }])
    const hidden = await readBy(
      6,
      toUiMessageStream(streamChat(engine, 'help:look'), { include: [] }),
    )
    expect(JSON.stringify(hidden.chunks)).not.toMatch(/seen|arguments|"messages"/)
  })

  test('asks the user, whose next words answer it', async () => {
    const runs = opened()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'help:ask' })
    const question = chat.lastMessage?.parts.find(({ type }) => type === 'data-question')
    expect(question).toMatchObject({
      id: 'help-0/ask-0',
      data: { toolCallId: 'help-0/ask-0', toolName: 'ask', question: 'Which one?' },
    })
    await chat.sendMessage({ text: 'that' })
    expect(chat.error).toBeUndefined()
    expect(shown(chat).at(-1)).toBe('1 done.')
  })

  test.each([
    [true, 'help-0/pay-0 output-available'],
    [false, 'help-0/pay-0 output-denied'],
  ])('waits for an approval, whose call has its end in the page (%s)', async (approved, end) => {
    const runs = opened()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'help:pay' })
    const waiting = ['help:pay', 'help-0 input-available', 'help-0/pay-0 approval-requested']
    expect(shown(chat)).toEqual(waiting)
    // A page that is opened now can decide as well.
    const saved = toUiMessages((await runs.get('ada'))?.session ?? [])
    expect(shown({ messages: saved })).toEqual(waiting)
    await chat.addToolApprovalResponse({
      id: approvalIdOf(chat.messages, 'help-0/pay-0'),
      approved,
    })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat)).toEqual(['help:pay', 'help-0 output-available', end, '1 done.'])
    expect(desk.posted).toHaveLength(2)
  })

  test('asks after an approval, and the page does not send its decision for ever', async () => {
    const runs = opened()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'help:pay+ask' })
    await chat.addToolApprovalResponse({
      id: approvalIdOf(chat.messages, 'help-0/pay-0'),
      approved: true,
    })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat)).toContain('help-0/pay-0 output-available')
    expect((await runs.get('ada'))?.session.pendingToolCallId).toBe('help-0/ask-1')
    expect(desk.posted).toHaveLength(2)
  })

  test('of an agent inside an agent leads back through both', async () => {
    const runs = opened()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'help:help:pay' })
    expect(shown(chat)).toContain('help-0/help-0/pay-0 approval-requested')
    await chat.addToolApprovalResponse({
      id: approvalIdOf(chat.messages, 'help-0/help-0/pay-0'),
      approved: true,
    })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat)).toContain('help-0/help-0/pay-0 output-available')
    expect(shown(chat).at(-1)).toBe('1 done.')
  })

  test('hands a call to the page, which gives its output', async () => {
    const runs = opened()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'help:stamp' })
    expect(shown(chat)).toContain('help-0/stamp-0 input-available')
    const saved = toUiMessages((await runs.get('ada'))?.session ?? [])
    expect(shown({ messages: saved })).toEqual(shown(chat))
    await chat.addToolOutput({ tool: 'stamp', toolCallId: 'help-0/stamp-0', output: 'stamped' })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat).at(-1)).toBe('1 done.')
  })
})

test('an agent inside a call is read by HttpAgent: progress, and an interrupt that leads back', async () => {
  const runs = opened()
  const custom: unknown[] = []
  let failure: string | undefined
  const agent = new HttpAgent({
    url: 'http://localhost/agent',
    threadId: 'ada',
    fetch: async (url, init) => {
      const input = (await new Request(url, init).json()) as AgUiIds & {
        readonly resume?: readonly { readonly interruptId: string }[]
      }
      const [decided] = input.resume ?? []
      const sent = decided
        ? await runs.approve('ada', 'help-0/pay-1', { ticket: decided.interruptId })
        : await runs.send('ada', 'help:look+pay')
      return toAgUiResponse(runs.follow('ada', { after: sent.lastEventId }), input)
    },
  })
  const subscriber = {
    onCustomEvent: ({ event }: { event: { value?: unknown } }) => void custom.push(event.value),
    onRunFailed: ({ error }: { error: Error }) => void (failure = error.message),
  }
  await agent.runAgent({}, subscriber)
  expect(custom).toContainEqual(expect.objectContaining({ toolCallId: 'help-0', inner: 'event' }))
  expect(agent.pendingInterrupts).toMatchObject([
    { toolCallId: 'help-0/pay-1', reason: 'approval', metadata: { toolName: 'pay' } },
  ])
  const interruptId = agent.pendingInterrupts[0]?.id ?? ''
  const payload = { approved: true }
  await agent.runAgent({ resume: [{ interruptId, status: 'resolved', payload }] }, subscriber)
  expect(failure).toBeUndefined()
  expect(agent.pendingInterrupts).toEqual([])
  const results = agent.messages.filter(({ role }) => role === 'tool')
  expect(results).toMatchObject([
    { toolCallId: 'help-0', content: '2 done.' },
    { toolCallId: 'help-0/pay-1', content: 'paid' },
  ])
})
