import { HttpAgent } from '@ag-ui/client'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, validateUIMessages, type UIMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import { askUser, createEngine, messageText, Session, tool } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'
import {
  resumeUiMessages,
  sendAgUi,
  sendUiMessages,
  sendWhenSettled,
  toUiMessages,
  uiCommands,
  type AgUiInput,
  type PageAuthority,
  type UiMessageInput,
} from '../../../src/ui.ts'
import { approvalIdOf } from './readers.ts'

const schema = { type: 'object' } as const

/** What the tool `pay` was run with. */
interface Shop {
  readonly runs: Runs
  readonly store: RunStore
  readonly paid: readonly unknown[]
}

/** A model that makes the calls `name:id=value` of the user's words. */
function shop(held: Promise<string> = Promise.resolve('')): Shop {
  const paid: unknown[] = []
  const tools = [
    tool({
      name: 'pay',
      description: '',
      schema,
      needsApproval: true,
      handler: (args) => {
        paid.push(args)
        return 'paid'
      },
    }),
    tool({ name: 'hold', description: '', schema, handler: () => held }),
    tool({ name: 'stamp', description: '', schema, manual: true }),
    tool({
      name: 'ask',
      description: '',
      schema,
      handler: () => askUser('Which one?', { choices: ['red', 'blue'] }),
    }),
    tool({
      name: 'seat',
      description: '',
      schema,
      handler: (_args, { answer }) => {
        if (answer === undefined) return askUser('Which row?', { resume: true })
        return answer === '14' ? askUser('Which seat?', { resume: true }) : 'booked'
      },
    }),
  ]
  const adapter = fake({
    script: ({ messages }): Script => {
      const last = messages.at(-1)
      if (last === undefined || last.role === 'tool') return [['text', 'Done.']]
      const words = messageText(last)
      if (!/^[a-z]+:/.test(words)) return [['text', 'Hi.']]
      return words.split(' ').map((word) => {
        const [name = '', rest = ''] = word.split(':')
        const [id = '', of] = rest.split('=')
        return ['tool_call', { id, name, arguments: of === undefined ? {} : { of } }]
      })
    },
  })
  const store = memoryStore()
  const engine = createEngine({ adapter, tools, retry: false })
  return { runs: createRuns({ engine, store }), store, paid }
}

interface Page {
  readonly chat: Chat<UIMessage>
  readonly say: (text: string) => Promise<void>
  readonly decide: (id: string, approved?: boolean) => Promise<void>
  readonly give: (name: string, id: string, output: unknown) => Promise<void>
}

/** The real `Chat` of `@ai-sdk/react`, with the messages that it was loaded with. */
function openPage(
  runs: Runs,
  messages: UIMessage[] = [],
  authorize: PageAuthority['authorize'] = () => true,
): Page {
  const chat = new Chat<UIMessage>({
    id: 'ada',
    messages,
    sendAutomaticallyWhen: sendWhenSettled,
    transport: new DefaultChatTransport({
      api: 'http://localhost/api/chat',
      fetch: async (_url, init) => {
        if (init?.method === 'GET') return resumeUiMessages(runs, 'ada')
        const posted = (await new Request('http://localhost/', init).json()) as {
          readonly messages: readonly UiMessageInput[]
          readonly trigger?: string
          readonly messageId?: string
        }
        const { trigger, messageId } = posted
        return sendUiMessages(runs, 'ada', posted.messages, { trigger, messageId, authorize })
      },
    }),
  })
  const rest = async (): Promise<void> => {
    for (let quiet = 0; quiet < 3; quiet++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (chat.status === 'submitted' || chat.status === 'streaming') quiet = 0
    }
  }
  return {
    chat,
    async say(text) {
      await chat.sendMessage({ text })
      await rest()
    },
    async decide(id, approved = true) {
      await chat.addToolApprovalResponse({ id: approvalIdOf(chat.messages, id), approved })
      await rest()
    },
    async give(name, toolCallId, output) {
      await chat.addToolOutput({ tool: name, toolCallId, output })
      await rest()
    },
  }
}

async function sessionOf({ runs }: Pick<Shop, 'runs'>): Promise<Session> {
  const info = await runs.get('ada')
  if (info === undefined) throw new Error('there is no session')
  return info.session
}

/** The messages of a page that is opened now. */
async function loaded(shop: Pick<Shop, 'runs'>): Promise<UIMessage[]> {
  return toUiMessages(await sessionOf(shop))
}

/** Takes the last answer back and asks again, with the same id of the call and other arguments. */
async function askAnew({ runs, store }: Shop, words: string): Promise<void> {
  const saved = await store.load('ada')
  if (saved === undefined) throw new Error('there is no session')
  await store.save(Session.rewind(saved.session, 0), { ifVersion: saved.version })
  await runs.send('ada', words)
  await runs.wait('ada')
}

const second = 'somebody has decided about this already'
const answered = 'this question was answered already'
const stale = 'what this was about has changed or is gone; look at what waits now'

describe('an approval of a page of useChat', () => {
  test.each(['live', 'loaded'])('has the ticket as its id (%s)', async (kind) => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('pay:p=3')
    const messages = kind === 'live' ? page.chat.messages : await loaded(own)
    const [wait] = Session.pending(await sessionOf(own))
    expect(approvalIdOf(messages, 'p')).toBe(wait?.ticket)
  })

  test('of a call that has other arguments now is refused', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('pay:p=3')
    await askAnew(own, 'pay:p=3000')
    await page.decide('p')
    expect(page.chat.error?.message).toBe(stale)
    expect(own.paid).toEqual([])
    const reloaded = openPage(own.runs, await loaded(own))
    await reloaded.decide('p')
    expect(reloaded.chat.error).toBeUndefined()
    expect(own.paid).toEqual([{ of: '3000' }])
  })

  test('that was decided in another way is refused, and the same decision is answered', async () => {
    const own = shop()
    const pages = [true, false, true].map(() => openPage(own.runs))
    const [first, other, same] = pages
    await first?.say('pay:p=3')
    other?.chat.messages.push(...structuredClone(first?.chat.messages ?? []))
    same?.chat.messages.push(...structuredClone(first?.chat.messages ?? []))
    await first?.decide('p')
    await other?.decide('p', false)
    await same?.decide('p')
    expect(other?.chat.error?.message).toBe(second)
    expect(same?.chat.error).toBeUndefined()
    expect(same?.chat.lastMessage?.parts.at(-1)).toMatchObject({ text: 'Done.' })
    expect(own.paid).toHaveLength(1)
  })

  test('can be decided while other calls of the answer run', async () => {
    let release = (_value: string): void => undefined
    const held = new Promise<string>((resolve) => {
      release = resolve
    })
    const own = shop(held)
    await own.runs.send('ada', 'hold:h pay:p=3')
    for await (const { event } of own.runs.follow('ada')) {
      if (event.type !== 'approval_requested') continue
      const part = {
        type: 'tool-pay',
        toolCallId: 'p',
        state: 'approval-responded',
        input: { of: '3' },
        approval: { id: event.ticket, approved: true },
      }
      const messages = [{ id: 'a', role: 'assistant', parts: [part] }]
      const response = await sendUiMessages(own.runs, 'ada', messages, { authorize: () => true })
      expect(response.status).toBe(200)
      release('held')
      expect(await response.text()).toContain('Done.')
    }
    expect(own.paid).toEqual([{ of: '3' }])
  })

  test('without a ticket is refused while its call waits', async () => {
    const own = shop()
    await own.runs.send('ada', 'pay:p=3')
    await own.runs.wait('ada')
    const part = {
      type: 'tool-pay',
      toolCallId: 'p',
      state: 'approval-responded',
      input: { of: '3' },
      approval: { id: 'p', approved: true },
    }
    const messages = [{ id: 'a', role: 'assistant', parts: [part] }]
    const response = await sendUiMessages(own.runs, 'ada', messages, { authorize: () => true })
    expect([response.status, await response.text()]).toEqual([409, stale])
    expect(own.paid).toEqual([])
  })

  test('of AI SDK 5 is bound too, though it is an output', async () => {
    const own = shop()
    await own.runs.send('ada', 'pay:p=3')
    await own.runs.wait('ada')
    const page = toUiMessages(await sessionOf(own), { version: 5 })
    const decided = (approved: boolean): readonly UiMessageInput[] =>
      page.map((message) => ({
        ...message,
        parts: message.parts.map((part) =>
          part.type === 'tool-pay'
            ? { ...part, state: 'output-available', output: { approved } }
            : part,
        ),
      }))
    const post = async (approved: boolean): Promise<unknown> => {
      const options = { version: 5, authorize: () => true } as const
      const response = await sendUiMessages(own.runs, 'ada', decided(approved), options)
      return [response.status, await response.text()]
    }
    await askAnew(own, 'pay:p=3000')
    expect(await post(true)).toEqual([409, stale])
    await askAnew(own, 'pay:p=3')
    expect(await post(true)).toEqual([200, expect.stringContaining('Done.')])
    expect(await post(false)).toEqual([409, second])
    expect(own.paid).toEqual([{ of: '3' }])
  })

  test('is not possible where its arguments are hidden', async () => {
    const own = shop()
    await own.runs.send('ada', 'pay:p=3')
    await own.runs.wait('ada')
    const hidden = toUiMessages(await sessionOf(own), { hide: ['approval_arguments'] })
    expect(approvalIdOf(hidden, 'p')).toBe('p')
  })

  test('is still there after a reload', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('pay:p=3')
    await page.decide('p')
    const messages = await loaded(own)
    const paid = (list: readonly UIMessage[]): unknown =>
      list.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool-pay'))
    expect(paid(messages)).toMatchObject([
      { state: 'output-available', approval: { approved: true } },
    ])
    expect(paid(page.chat.messages)).toMatchObject(paid(messages) as object[])
    await validateUIMessages({ messages })
    const reloaded = openPage(own.runs, messages)
    await reloaded.say('hello')
    expect(reloaded.chat.error).toBeUndefined()
  })

  test('stays possible beside those that the page has made before', async () => {
    const own = shop()
    const page = openPage(own.runs)
    for (const count of ['1', '2', '3']) {
      await page.say(`pay:p${count}=${count}`)
      await page.decide(`p${count}`)
      expect(page.chat.error).toBeUndefined()
    }
    expect(own.paid).toEqual([{ of: '1' }, { of: '2' }, { of: '3' }])
  })
})

describe('a question of a page of useChat', () => {
  test.each(['live', 'loaded'])('has its ticket (%s)', async (kind) => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('ask:q')
    const messages = kind === 'live' ? page.chat.messages : await loaded(own)
    const [wait] = Session.pending(await sessionOf(own))
    const parts = messages.flatMap((message) => message.parts)
    expect(parts.find(({ type }) => type === 'data-question')).toMatchObject({
      data: { question: 'Which one?', options: { choices: ['red', 'blue'] }, ticket: wait?.ticket },
    })
  })

  test.each([
    ['words', (page: Page) => page.say('blue')],
    ['an output', (page: Page) => page.give('ask', 'q', 'blue')],
  ])('that somebody has answered is not answered again by %s', async (_name, answer) => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('ask:q')
    await own.runs.send('ada', 'red')
    await own.runs.wait('ada')
    await answer(page)
    expect(page.chat.error?.message).toBe(answered)
    expect((await sessionOf(own)).thread.messages).toHaveLength(4)
  })

  test('is not answered by words of a page that does not show it', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('hello')
    await own.runs.send('ada', 'ask:q')
    await own.runs.wait('ada')
    await page.say('and on')
    expect(page.chat.error).toBeUndefined()
    const session = await sessionOf(own)
    expect(Session.pending(session)).toMatchObject([{ kind: 'question', call: { id: 'q' } }])
    expect(JSON.stringify(session.thread)).not.toContain('"answeredByUser"')
  })

  test('of a handler that asks again takes each answer for the question that was shown', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('seat:s')
    const before = structuredClone(page.chat.messages)
    await page.say('14')
    const late = openPage(own.runs, before)
    await late.say('15')
    expect(late.chat.error?.message).toBe(answered)
    await page.say('C')
    expect(page.chat.error).toBeUndefined()
    expect((await sessionOf(own)).status).toBe('completed')
  })

  test('of several is answered by words in a page that was loaded between them', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('ask:q ask:r')
    await page.say('red')
    const reloaded = openPage(own.runs, await loaded(own))
    await reloaded.say('blue')
    expect(reloaded.chat.error).toBeUndefined()
    const calls = Session.calls(await sessionOf(own))
    expect(calls.map(({ question }) => question?.answer)).toEqual(['red', 'blue'])
  })

  test('words are refused together with the decision beside them, if the question is answered', async () => {
    const own = shop()
    const page = openPage(own.runs)
    Object.assign(page.chat, { sendAutomaticallyWhen: () => false })
    await page.say('pay:p=3 ask:q')
    await own.runs.send('ada', 'red')
    await own.runs.wait('ada')
    await page.decide('p')
    await page.say('blue')
    expect(page.chat.error?.message).toBe(answered)
    expect((await sessionOf(own)).pendingApprovals).toMatchObject([{ id: 'p' }])
    expect(own.paid).toEqual([])
  })

  test('words that are posted again are the same answer', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('ask:q')
    await page.say('blue')
    const messages = page.chat.messages.slice(0, 3)
    const again = await sendUiMessages(own.runs, 'ada', messages)
    expect(again.status).toBe(200)
    expect(await again.text()).toContain('Done.')
    const edited = [...messages.slice(0, 2), { id: 'u9', role: 'user', parts: [text('red')] }]
    expect((await sendUiMessages(own.runs, 'ada', edited)).status).toBe(409)
  })

  test('is still there after a reload, with its options and the answer', async () => {
    const own = shop()
    const page = openPage(own.runs)
    await page.say('ask:q')
    await page.say('blue')
    const messages = await loaded(own)
    const told = (list: readonly UIMessage[]): unknown =>
      list.map(({ role, parts }) => [
        role,
        ...parts.flatMap((part): unknown[] => {
          if (part.type === 'text') return [part.text]
          if (part.type !== 'data-question') return []
          const { ticket: _ticket, answer: _answer, ...rest } = part.data as Record<string, unknown>
          return [rest]
        }),
      ])
    expect(told(messages)).toEqual(told(page.chat.messages))
    const asked = messages.flatMap(({ parts }) => parts)
    expect(asked.filter(({ type }) => type === 'data-question')).toMatchObject([
      { data: { answer: 'blue' } },
    ])
    expect(asked.find((part) => part.type === 'tool-ask')).toMatchObject({
      state: 'output-available',
      output: 'blue',
    })
    // It is not open there, so words are a user message.
    const reloaded = openPage(own.runs, messages)
    await reloaded.say('hello')
    expect(reloaded.chat.error).toBeUndefined()
    expect(reloaded.chat.lastMessage?.parts.at(-1)).toMatchObject({ text: 'Hi.' })
  })
})

const text = (words: string): { type: 'text'; text: string } => ({ type: 'text', text: words })

test('a result of a call that has other arguments in the page is refused', async () => {
  const own = shop()
  const page = openPage(own.runs)
  await page.say('stamp:g=1')
  await askAnew(own, 'stamp:g=2')
  await page.give('stamp', 'g', 'ok')
  expect(page.chat.error?.message).toBe(stale)
  expect((await sessionOf(own)).pendingToolCalls).toMatchObject([{ id: 'g' }])
})

test('what a page settles has the author that authorize names', async () => {
  const own = shop()
  const page = openPage(own.runs, [], (action) => ({ by: `ada (${action})` }))
  await page.say('pay:p=3 ask:q')
  await page.give('ask', 'q', 'red')
  await page.decide('p')
  expect(Session.calls(await sessionOf(own))).toMatchObject([
    { id: 'p', approval: { decision: 'approved', by: 'ada (approvals)' } },
    { id: 'q', question: { answer: 'red', by: 'ada (messages)' } },
  ])
})

test.each([{ by: '' }, { by: 'x'.repeat(257) }, { by: 1 }, { context: {} }])(
  'an authorize that returns %j allows nothing',
  async (verdict) => {
    const own = shop()
    const authorize = (() => verdict) as unknown as NonNullable<PageAuthority['authorize']>
    const messages = [{ id: 'u1', role: 'user', parts: [text('hello')] }]
    const mistakes: unknown[] = []
    const onError = (error: unknown): void => void mistakes.push(error)
    const response = await sendUiMessages(own.runs, 'ada', messages, { authorize, onError })
    expect([response.status, mistakes.length]).toEqual([403, 1])
    expect(await own.runs.get('ada')).toBeUndefined()
  },
)

describe('an interrupt of an AG-UI client', () => {
  const agentAt = (runs: Runs, authorize: PageAuthority['authorize'] = () => true): HttpAgent =>
    new HttpAgent({
      url: 'http://localhost/agent',
      threadId: 'ada',
      fetch: async (url, init) => {
        const input = (await new Request(url, init).json()) as AgUiInput
        return sendAgUi(runs, 'ada', input, { authorize })
      },
    })
  const say = async (agent: HttpAgent, content: string): Promise<void> => {
    agent.addMessage({ id: content, role: 'user', content })
    await agent.runAgent()
  }
  const settle = (runs: Runs, interruptId: string, payload: unknown): Promise<Response> => {
    const resume = [{ interruptId, status: 'resolved', payload }]
    const input = { threadId: 'ada', runId: 'r2', messages: [], resume }
    return sendAgUi(runs, 'ada', input, { authorize: () => true })
  }

  test('has the ticket as its id, also when it is shown again', async () => {
    const own = shop()
    const agent = agentAt(own.runs)
    await say(agent, 'pay:p=3')
    const [wait] = Session.pending(await sessionOf(own))
    expect(agent.pendingInterrupts).toMatchObject([{ id: wait?.ticket, toolCallId: 'p' }])
    const other = agentAt(own.runs)
    await other.runAgent()
    expect(other.pendingInterrupts.map(({ id }) => id)).toEqual([wait?.ticket])
  })

  test('is refused if its call has other arguments now, or with the id of the call', async () => {
    const own = shop()
    const agent = agentAt(own.runs)
    await say(agent, 'pay:p=3')
    const id = agent.pendingInterrupts[0]?.id ?? ''
    await askAnew(own, 'pay:p=3000')
    for (const ticket of [id, 'p']) {
      const response = await settle(own.runs, ticket, { approved: true })
      expect([response.status, await response.text()]).toEqual([409, stale])
    }
    expect(own.paid).toEqual([])
  })

  test('that somebody settled in another way is refused, and in the same way is answered', async () => {
    const own = shop()
    const agent = agentAt(own.runs)
    await say(agent, 'pay:p=3 ask:q')
    const idOf = (callId: string): string =>
      agent.pendingInterrupts.find(({ toolCallId }) => toolCallId === callId)?.id ?? ''
    const [p, q] = [idOf('p'), idOf('q')]
    await own.runs.send('ada', 'red')
    await own.runs.wait('ada')
    await own.runs.approve('ada', 'p')
    await own.runs.wait('ada')
    const tried = [
      [p, { approved: false }, 409, second],
      [q, 'blue', 409, answered],
      [p, { approved: true }, 200, 'RUN_FINISHED'],
      [q, 'red', 200, 'RUN_FINISHED'],
    ] as const
    for (const [id, payload, status, words] of tried) {
      const response = await settle(own.runs, id, payload)
      expect([response.status, await response.text()]).toEqual([
        status,
        expect.stringContaining(words),
      ])
    }
    expect(own.paid).toHaveLength(1)
  })

  test('with an invented id is refused', async () => {
    const own = shop()
    await own.runs.send('ada', 'ask:q')
    await own.runs.wait('ada')
    const response = await settle(own.runs, 'invented', 'red')
    expect([response.status, await response.text()]).toEqual([409, stale])
  })

  test('of a question is not settled by words', async () => {
    const own = shop()
    await own.runs.send('ada', 'ask:q')
    await own.runs.wait('ada')
    const messages = [{ id: 'u', role: 'user', content: 'red' }]
    const input = { threadId: 'ada', runId: 'r2', messages }
    await (await sendAgUi(own.runs, 'ada', input)).text()
    expect(Session.pending(await sessionOf(own))).toMatchObject([{ call: { id: 'q' } }])
  })

  test('has an author, and its answer is told again as it was said', async () => {
    const own = shop()
    const agent = agentAt(own.runs, () => ({ by: 'ada' }))
    await say(agent, 'ask:q')
    const interruptId = agent.pendingInterrupts[0]?.id ?? ''
    await agent.runAgent({ resume: [{ interruptId, status: 'resolved', payload: 'red' }] })
    const [call] = Session.calls(await sessionOf(own))
    expect(call?.question).toMatchObject({ answer: 'red', by: 'ada' })
    await say(agent, 'hello')
    const other = agentAt(own.runs)
    await other.runAgent()
    for (const client of [agent, other]) {
      const results = client.messages.filter(({ role }) => role === 'tool')
      expect(results).toMatchObject([{ toolCallId: 'q', content: 'red' }])
    }
  })
})

test('commands of a page are refused by the session that they are for, in its own words', async () => {
  const own = shop()
  const page = openPage(own.runs)
  await page.say('pay:p=3')
  const messages = structuredClone(page.chat.messages)
  await own.runs.deny('ada', 'p')
  await own.runs.wait('ada')
  const session = await sessionOf(own)
  const approved = messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === 'tool-pay' && part.state === 'approval-requested'
        ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } }
        : part,
    ),
  }))
  expect(() => uiCommands(approved, session)).toThrow(
    expect.objectContaining({ reason: 'already_decided' }),
  )
})
