import { Chat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  validateUIMessages,
  type UIMessage,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { askUser, createEngine, streamChat, tool, type Session } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import {
  fromUiMessages,
  sendUiMessages,
  toUiMessageResponse,
  toUiMessages,
} from '../../../src/ui.ts'
import { service } from '../../durable/runs/service.ts'
import { openDesk, openRunsDesk, type Desk } from './desk.ts'
import { approvalIdOf } from './readers.ts'

type Init = Partial<ConstructorParameters<typeof Chat<UIMessage>>[0]>

/** A page: the real `Chat` of `@ai-sdk/react`, which `useChat` renders. */
function pageAt({ url }: Desk, init: Init = {}): Chat<UIMessage> {
  const transport = new DefaultChatTransport({ api: url })
  return new Chat<UIMessage>({ id: 'ada', transport, ...init })
}

/** What a page shows: its messages without what their parts do not need. */
function shown({ messages }: Chat<UIMessage>): unknown[] {
  return messages.map(({ role, parts }) => [
    role,
    ...parts.flatMap((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'step-start') return []
      return 'state' in part && 'toolCallId' in part ? `${part.type} ${part.state}` : part.type
    }),
  ])
}

/** The messages of a page that is opened. */
function opened(session: Session | undefined): UIMessage[] {
  return toUiMessages(session ?? [])
}

/** Waits until a page is at rest, also after what it sends by itself. */
async function settled(chat: Chat<UIMessage>): Promise<void> {
  while (chat.status === 'submitted' || chat.status === 'streaming') {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('useChat on runs', () => {
  test('shows an answer, and the next one', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'hello' })
    await chat.sendMessage({ text: 'so what' })
    expect(chat.error).toBeUndefined()
    expect(chat.status).toBe('ready')
    expect(shown(chat)).toEqual([
      ['user', 'hello'],
      ['assistant', 'Hello, Ada.'],
      ['user', 'so what'],
      ['assistant', 'You said so what.'],
    ])
    const { session } = (await runs.get('ada')) ?? {}
    expect(session && toUiMessages(session).map(({ id }) => id)).toEqual([
      'm0',
      'm0-answer',
      'm2',
      'm2-answer',
    ])
    expect(chat.messages.filter(({ role }) => role === 'assistant').map(({ id }) => id)).toEqual([
      'm0-answer',
      'm2-answer',
    ])
  })

  test('approves a call, which then runs in the same message', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.sendMessage({ text: 'pay' })
    expect(shown(chat).at(-1)).toEqual(['assistant', 'tool-pay approval-requested'])
    await chat.addToolApprovalResponse({ id: approvalIdOf(chat.messages, 'c2'), approved: true })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat)).toEqual([
      ['user', 'pay'],
      ['assistant', 'tool-pay output-available', 'Done.'],
    ])
    expect(chat.messages.at(-1)?.parts).toMatchObject([
      { type: 'step-start' },
      { output: 'paid', input: { euros: 3 }, approval: { approved: true } },
      { type: 'step-start' },
      { text: 'Done.' },
    ])
    await validateUIMessages({ messages: chat.messages })
    expect(desk.posted).toHaveLength(2)
  })

  test('denies a call, and the model is told why', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.sendMessage({ text: 'pay' })
    const id = approvalIdOf(chat.messages, 'c2')
    await chat.addToolApprovalResponse({ id, approved: false, reason: 'too dear' })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat).at(-1)).toEqual(['assistant', 'tool-pay output-denied', 'Done.'])
    await validateUIMessages({ messages: chat.messages })
    const { session } = (await runs.get('ada')) ?? {}
    expect(JSON.stringify(session?.thread)).toContain('too dear')
    // The same after a reload.
    const messages: UIMessage[] = session ? toUiMessages(session) : []
    await validateUIMessages({ messages })
    expect(messages.at(-1)?.parts[1]).toMatchObject({
      state: 'output-denied',
      input: { euros: 3 },
      approval: { id, approved: false, reason: 'too dear' },
    })
    const back = pageAt(desk, { messages: messages.slice(0, 1) })
    await back.resumeStream()
    // A stream cannot tell the decision, without which `output-denied` is not valid.
    expect(shown(back).at(-1)).toEqual(['assistant', 'tool-pay output-error', 'Done.'])
    expect(back.lastMessage?.parts[1]).toMatchObject({ errorText: 'the call was denied' })
    await validateUIMessages({ messages: back.messages })
  })

  test('answers a question by the next message', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'ask' })
    expect(shown(chat).at(-1)).toEqual(['assistant', 'tool-ask input-available', 'data-question'])
    await chat.sendMessage({ text: '14C' })
    expect(chat.error).toBeUndefined()
    expect(shown(chat).slice(-2)).toEqual([
      ['user', '14C'],
      ['assistant', 'Done.'],
    ])
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.thread.messages[2]).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('"answer":"14C"') as string,
      metadata: { answeredByUser: true },
    })
  })

  test('answers a question by the output of the call that asked', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    })
    await chat.sendMessage({ text: 'ask' })
    await chat.addToolOutput({ tool: 'ask', toolCallId: 'c3', output: '2A' })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    expect(shown(chat).slice(1)).toEqual([
      ['assistant', 'tool-ask output-available', 'data-question', 'Done.'],
    ])
  })

  test('answers a question of a handler that is called again: the words and the ids are the same after a reload', async () => {
    const schema = z.object({})
    const seat = tool({
      name: 'seat',
      description: '',
      schema,
      handler: (_args, { answer }) => {
        if (answer === undefined) return askUser('Which row?', { resume: true })
        return answer === '14' ? askUser('Which seat?', { resume: true }) : 'booked'
      },
    })
    const adapter = fake({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? [['text', 'Booked.']]
          : [['tool_call', { id: 'c', name: 'seat', arguments: {} }]],
    })
    const runs = createRuns({
      engine: createEngine({ adapter, tools: [seat] }),
      store: memoryStore(),
    })
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    for (const text of ['a seat', '14', 'C']) await chat.sendMessage({ text })
    expect(chat.error).toBeUndefined()
    const ids = (messages: readonly { role: string; id: string }[]): readonly string[] =>
      messages.flatMap(({ role, id }) => (role === 'assistant' ? id : []))
    const { session } = (await runs.get('ada')) ?? {}
    const saved = toUiMessages(session ?? [])
    expect(ids(chat.messages)).toEqual(['m0-answer', 'answer-c-0-answer', 'answer-c-1-answer'])
    // The second question is over, and what asked it is shown with its end where its call is.
    expect(ids(saved)).toEqual(['m0-answer', 'answer-c-1-answer'])
    const words = saved.flatMap(({ role, parts }) => (role === 'user' ? parts : []))
    expect(words).toEqual(['a seat', '14', 'C'].map((text) => ({ type: 'text', text })))
  })

  test('gives the output of a tool that the page runs, and its failure', async () => {
    for (const isError of [false, true]) {
      const { runs } = service()
      await using desk = await openRunsDesk(runs)
      const chat = pageAt(desk, {
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
        onToolCall: ({ toolCall: { toolCallId } }) => {
          // Awaiting it here would wait for the end of this very call.
          void chat.addToolOutput(
            isError
              ? { tool: 'hand', toolCallId, state: 'output-error', errorText: 'no hands' }
              : { tool: 'hand', toolCallId, output: { stamped: true } },
          )
        },
      })
      await chat.sendMessage({ text: 'hand' })
      await settled(chat)
      expect(chat.error).toBeUndefined()
      const state = isError ? 'output-error' : 'output-available'
      expect(shown(chat).at(-1)).toEqual(['assistant', `tool-hand ${state}`, 'Done.'])
      const { session } = (await runs.get('ada')) ?? {}
      expect(session?.thread.messages[2]?.content).toContain(isError ? 'no hands' : 'stamped')
    }
  })

  test('shows a failure in safe words, and regenerate goes on with the run', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'fail' })
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toBe('the run ended with provider_unavailable')
    expect(shown(chat)).toEqual([
      ['user', 'fail'],
      ['assistant', 'Half'],
    ])
    await chat.regenerate()
    expect(shown(chat)).toEqual([
      ['user', 'fail'],
      ['assistant', 'Half'],
    ])
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.thread.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  test('a message that is sent while an answer is written is refused', async () => {
    const { runs, open, reached } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    const first = chat.sendMessage({ text: 'slow' })
    await reached
    const other = pageAt(desk)
    await other.sendMessage({ text: 'hello' })
    expect(other.error?.message).toBe('an answer is being written; wait for it or stop it')
    open()
    await first
    expect(chat.status).toBe('ready')
  })

  test('stop of the page leaves the run alone; runs.stop ends it for the page', async () => {
    const { runs, open, reached } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    const sending = chat.sendMessage({ text: 'slow' })
    await reached
    await chat.stop()
    await sending
    expect(chat.status).toBe('ready')
    expect((await runs.get('ada'))?.running).toBe(true)
    const resuming = chat.resumeStream()
    await runs.stop('ada')
    open()
    await resuming
    expect(chat.status).toBe('ready')
    expect(chat.error).toBeUndefined()
    expect((await runs.get('ada'))?.session.haltedReason).toBe('cancelled')
  })

  test('nothing new is refused, so a page that sends by itself does not send for ever', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk, { sendAutomaticallyWhen: () => true })
    await chat.sendMessage({ text: 'hello' })
    await settled(chat)
    expect(chat.error?.message).toMatch(/^invalid message: messages has nothing new/)
    expect(desk.posted).toHaveLength(2)
  })

  test('a post that is repeated has one effect, and gets the answer', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'hello' })
    const response = await sendUiMessages(runs, 'ada', chat.messages.slice(0, 1))
    expect(await response.text()).toContain('"delta":"Hello, Ada."')
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.thread.messages).toHaveLength(2)
  })

  test('regenerate of an answer that is complete, and an edit, are refused: a run does not go back', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'hello' })
    await chat.sendMessage({ text: 'bye' })
    const [first] = chat.messages
    const { session } = (await runs.get('ada')) ?? {}
    const refused =
      'the message was sent before, and a run does not go back: it cannot be edited or answered again; send a new message'
    for (const page of [chat, pageAt(desk, { messages: opened(session) })]) {
      await page.regenerate()
      expect(page.error?.message).toBe(refused)
    }
    // An earlier one, and one with other words.
    await chat.sendMessage({ text: 'hello again', messageId: first?.id ?? '' })
    expect(chat.error?.message).toBe(refused)
    expect((await runs.get('ada'))?.session).toEqual(session)
  })

  test('regenerate after a reload goes on with a run that failed, and does not say the words again', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    await pageAt(desk).sendMessage({ text: 'fail' })
    const { session } = (await runs.get('ada')) ?? {}
    const page = pageAt(desk, { messages: opened(session) })
    await page.regenerate()
    expect(page.error?.message).toBe('the run ended with provider_unavailable')
    const { messages } = (await runs.get('ada'))?.session.thread ?? { messages: [] }
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  test('a mistake in the options is told before anything is sent', async () => {
    const { runs } = service()
    const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hello' }] }]
    const options = { heartbeatMs: -1 }
    await expect(sendUiMessages(runs, 'ada', messages, options)).rejects.toThrow('heartbeatMs')
    expect(await runs.get('ada')).toBeUndefined()
  })
})

describe('decisions of a page', () => {
  /** A session with two calls that wait, and a page at it. */
  async function twoCalls(name: 'pay' | 'stamp') {
    const schema = z.object({})
    const pay = tool({
      name: 'pay',
      description: '',
      schema,
      needsApproval: true,
      handler: () => 'paid',
    })
    const stamp = tool({ name: 'stamp', description: '', schema, manual: true })
    let open: () => void = () => undefined
    const isOpen = new Promise<void>((resolve) => (open = resolve))
    const wait = tool({
      name: 'wait',
      description: '',
      schema,
      handler: async () => {
        await isOpen
        return 'waited'
      },
    })
    const adapter = fake({
      script: ({ messages }) => {
        const last = messages.at(-1)
        if (last?.toolCallId === 'w') return [['text', 'All done.']]
        if (last?.role === 'tool') {
          return [
            ['text', 'Now.'],
            ['tool_call', { id: 'w', name: 'wait', arguments: {} }],
          ]
        }
        return [
          ['text', 'Two things.'],
          ['tool_call', { id: 'k1', name, arguments: {} }],
          ['tool_call', { id: 'k2', name, arguments: {} }],
        ]
      },
    })
    const engine = createEngine({ adapter, tools: [pay, stamp, wait] })
    const runs = createRuns({ engine, store: memoryStore() })
    const desk = await openRunsDesk(runs)
    const isPay = name === 'pay'
    const chat = pageAt(desk, {
      sendAutomaticallyWhen: isPay
        ? lastAssistantMessageIsCompleteWithApprovalResponses
        : lastAssistantMessageIsCompleteWithToolCalls,
    })
    await chat.sendMessage({ text: 'go' })
    const decide = async (): Promise<void> => {
      for (const id of ['k1', 'k2']) {
        await (isPay
          ? chat.addToolApprovalResponse({ id: approvalIdOf(chat.messages, id), approved: true })
          : chat.addToolOutput({ tool: name, toolCallId: id, output: 'ok' }))
      }
    }
    const whole = ['Two things.', `tool-${name} output-available`, `tool-${name} output-available`]
    const rest = ['Now.', 'tool-wait output-available', 'All done.']
    return { runs, desk, chat, decide, open, whole: ['assistant', ...whole, ...rest] }
  }

  test.each(['pay', 'stamp'] as const)(
    'two of them in one post get the answer (%s)',
    async (name) => {
      const { desk: opened, chat, decide, open, whole } = await twoCalls(name)
      await using desk = opened
      open()
      await decide()
      await settled(chat)
      expect(chat.error).toBeUndefined()
      expect(shown(chat).at(-1)).toEqual(whole)
      expect(desk.posted).toHaveLength(2)
    },
  )

  test.each(['pay', 'stamp'] as const)(
    'a post of them that is repeated, during the run and after it, gets the answer (%s)',
    async (name) => {
      const { runs, desk: opened, chat, decide, open, whole } = await twoCalls(name)
      await using desk = opened
      const deciding = decide()
      const isWaiting = async (): Promise<boolean> =>
        JSON.stringify((await runs.get('ada'))?.session).includes('Now.')
      while (!(await isWaiting())) await new Promise(setImmediate)
      const [, post] = desk.posted
      const messages = (post?.messages ?? []) as UIMessage[]
      const during = pageAt(desk, { messages })
      const sending = during.sendMessage()
      while (desk.posted.length < 3) await new Promise(setImmediate)
      open()
      await Promise.all([deciding, sending, settled(chat)])
      await runs.wait('ada')
      const later = pageAt(desk, { messages })
      await later.sendMessage()
      for (const page of [during, later]) {
        expect(page.error).toBeUndefined()
        expect(shown(page).at(-1)).toEqual(whole)
      }
      expect(shown(chat).at(-1)).toEqual(whole)
    },
  )

  test('one that somebody else made otherwise is refused, and nothing else of the post counts', async () => {
    const { runs, desk: opened, chat, decide } = await twoCalls('pay')
    await using desk = opened
    await runs.deny('ada', 'k1')
    await decide()
    await settled(chat)
    expect(desk.posted).toHaveLength(2)
    expect(chat.error?.message).toBe('somebody has decided about this already')
    expect((await runs.get('ada'))?.session.pendingApprovals).toMatchObject([{ id: 'k2' }])
  })
})

describe('useChat on runs elsewhere', () => {
  test('a worker of another process answers, and the page does not see the difference', async () => {
    const store = memoryStore()
    const { runs } = service({}, { store, execute: false })
    const other = service({}, { store })
    await using worker = other.runs.work({ everyMs: 1 })
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.sendMessage({ text: 'pay' })
    await chat.addToolApprovalResponse({ id: approvalIdOf(chat.messages, 'c2'), approved: true })
    await settled(chat)
    await chat.resumeStream()
    expect(chat.error).toBeUndefined()
    expect(shown(chat)).toEqual([
      ['user', 'pay'],
      ['assistant', 'tool-pay output-available', 'Done.'],
    ])
    expect(chat.lastMessage?.id).toBe('m0-answer')
    expect(worker).toBeDefined()
  })

  test('a message that waits its turn gets its own answer, and nothing of the one before', async () => {
    const { runs, open, reached } = service({}, { whenBusy: 'queue' })
    await using desk = await openRunsDesk(runs)
    const first = pageAt(desk)
    const slow = first.sendMessage({ text: 'slow' })
    await reached
    const second = pageAt(desk)
    const quick = second.sendMessage({ text: 'hello' })
    while (desk.posted.length < 2) await new Promise(setImmediate)
    open()
    await Promise.all([slow, quick])
    expect(shown(first).at(-1)).toEqual([
      'assistant',
      'Let me see.',
      'tool-slow output-available',
      'Done.',
    ])
    expect(shown(second)).toEqual([
      ['user', 'hello'],
      ['assistant', 'Hello, Ada.'],
    ])
  })
})

describe('a page that comes back', () => {
  test('after a broken connection has the whole answer, once', async () => {
    const { runs, open, reached } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    const sending = chat.sendMessage({ text: 'slow' })
    await reached
    while (chat.messages.at(-1)?.role !== 'assistant') await new Promise(setImmediate)
    desk.cut()
    await sending
    expect(chat.status).toBe('error')
    const resuming = chat.resumeStream()
    while (chat.status !== 'streaming') await new Promise(setImmediate)
    open()
    await resuming
    expect(chat.error).toBeUndefined()
    expect(shown(chat)).toEqual([
      ['user', 'slow'],
      ['assistant', 'Let me see.', 'tool-slow output-available', 'Done.'],
    ])
  })

  test('after the run has ended has the whole answer, too', async () => {
    const { runs, open, reached } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    const sending = chat.sendMessage({ text: 'slow' })
    await reached
    desk.cut()
    await sending
    open()
    await runs.wait('ada')
    await chat.resumeStream()
    expect(shown(chat)).toEqual([
      ['user', 'slow'],
      ['assistant', 'Let me see.', 'tool-slow output-available', 'Done.'],
    ])
  })

  test('by a reload in the middle of a run goes on where it was', async () => {
    const { runs, open, reached } = service()
    await using desk = await openRunsDesk(runs)
    const left = pageAt(desk)
    const sending = left.sendMessage({ text: 'slow' })
    await reached
    await left.stop()
    await sending
    const { session } = (await runs.get('ada')) ?? {}
    const messages: UIMessage[] = session ? toUiMessages(session) : []
    await validateUIMessages({ messages })
    const chat = pageAt(desk, { messages })
    expect(shown(chat)).toEqual([
      ['user', 'slow'],
      ['assistant', 'Let me see.', 'tool-slow input-available'],
    ])
    const resuming = chat.resumeStream()
    open()
    await resuming
    expect(shown(chat)).toEqual([
      ['user', 'slow'],
      ['assistant', 'Let me see.', 'tool-slow output-available', 'Done.'],
    ])
  })

  test('by a reload while something is pending can settle it', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    await pageAt(desk).sendMessage({ text: 'pay' })
    const { session } = (await runs.get('ada')) ?? {}
    const messages: UIMessage[] = session ? toUiMessages(session) : []
    await validateUIMessages({ messages })
    const chat = pageAt(desk, {
      messages,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.resumeStream()
    expect(shown(chat)).toEqual([
      ['user', 'pay'],
      ['assistant', 'tool-pay approval-requested'],
    ])
    await chat.addToolApprovalResponse({ id: approvalIdOf(chat.messages, 'c2'), approved: true })
    await settled(chat)
    expect(shown(chat)).toEqual([
      ['user', 'pay'],
      ['assistant', 'tool-pay output-available', 'Done.'],
    ])
  })

  test('to nothing gets no stream', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    const chat = pageAt(desk)
    await chat.resumeStream()
    expect(chat.status).toBe('ready')
    expect(chat.messages).toEqual([])
  })

  test('after a failure sees it again', async () => {
    const { runs } = service()
    await using desk = await openRunsDesk(runs)
    await pageAt(desk).sendMessage({ text: 'fail' })
    const chat = pageAt(desk)
    await chat.resumeStream()
    expect(chat.error?.message).toBe('the run ended with provider_unavailable')
    expect(shown(chat)).toEqual([['assistant', 'Half']])
  })
})

describe('useChat without a session', () => {
  test('a conversation that only the page keeps goes on', async () => {
    const adapter = fake({
      script: ({ messages }) => [['text', `${messages.length} messages`]],
    })
    const engine = createEngine({ adapter, instructions: 'Be brief.' })
    await using desk = await openDesk(({ messages }) =>
      toUiMessageResponse(streamChat(engine, fromUiMessages(messages)), {
        originalMessages: messages,
      }),
    )
    const chat = pageAt(desk)
    await chat.sendMessage({ text: 'one' })
    await chat.sendMessage({ text: 'two' })
    expect(shown(chat)).toEqual([
      ['user', 'one'],
      ['assistant', '2 messages'],
      ['user', 'two'],
      ['assistant', '4 messages'],
    ])
  })

  test('a page that leaves stops the run, whose request is closed', async () => {
    let onClosed: () => void = () => undefined
    const isClosed = new Promise<void>((resolve) => (onClosed = resolve))
    const adapter = fake({
      script: [
        ['text', 'a'],
        ['delay', 60_000],
      ],
      cleanupObserver: () => onClosed(),
    })
    const engine = createEngine({ adapter, clock: virtualClock() })
    await using desk = await openDesk(() => toUiMessageResponse(streamChat(engine, 'x')))
    const chat = pageAt(desk)
    const sending = chat.sendMessage({ text: 'go' })
    while (chat.messages.at(-1)?.role !== 'assistant') await new Promise(setImmediate)
    await chat.stop()
    await sending
    await isClosed
    expect(adapter.openStreams).toBe(0)
  })
})
