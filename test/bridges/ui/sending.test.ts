import { Chat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses as withApprovals,
  lastAssistantMessageIsCompleteWithToolCalls as withOutputs,
  type UIMessage,
} from 'ai'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { questionsOf } from '../../../src/engine/calls/pending.ts'
import {
  agentTool,
  askUser,
  createEngine,
  halt,
  messageText,
  tool,
  type SessionStatus,
  type Tool,
} from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'
import {
  resumeUiMessages,
  sendUiMessages,
  sendWhenSettled,
  toUiMessages,
  type UiMessageInput,
} from '../../../src/ui.ts'
import { approvalIdOf } from './readers.ts'

const schema = { type: 'object' } as const
const pay = tool({
  name: 'pay',
  description: '',
  schema,
  needsApproval: true,
  handler: () => ({ paid: 3 }),
})
const stamp = tool({ name: 'stamp', description: '', schema, manual: true })
const ask = tool({ name: 'ask', description: '', schema, handler: () => askUser('Which one?') })
const look = tool({ name: 'look', description: '', schema, handler: () => 'seen' })
const stop = tool({ name: 'stop', description: '', schema, handler: () => halt('done', { ok: 1 }) })
const hang = tool({
  name: 'hang',
  description: '',
  schema,
  handler: (_args, { signal }) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')))
    }),
})
const own = [hang, pay, stamp, ask, look, stop]

/** The calls that words ask for: `pay:p stamp:g help:a=pay:i` is two calls, and an agent whose model makes one. */
function callsOf(words: string): Script {
  return words.split(' ').map((word) => {
    const [name = '', ...rest] = word.split(':')
    const [id = '', ...inner] = rest.join(':').split('=')
    const args = { prompt: inner.join('=').replaceAll('+', ' ') }
    return ['tool_call', { id, name, arguments: args }]
  })
}

/** A whole call, and the beginning of one. */
const look1 = ['tool_call', { id: 'l', name: 'look', arguments: {} }] as const
const cut = ['tool_call_delta', { id: 'l', name: 'look', argumentsDelta: '{"a":' }] as const

const adapter = fake({
  script: ({ messages }): Script => {
    const last = messages.at(-1)
    if (last === undefined || last.role === 'tool') return [['text', 'Done.']]
    const words = messageText(last)
    if (words.startsWith('The result')) return [['text', 'Late.']]
    return /^[a-z]+:/.test(words) ? callsOf(words) : [['text', 'Hi.']]
  },
})
const help: Tool = agentTool({
  name: 'help',
  description: '',
  engine: createEngine({ adapter, tools: own, retry: false }),
})

type When = (page: { messages: UIMessage[] }) => boolean

interface Page {
  readonly chat: Chat<UIMessage>
  readonly runs: Runs
  /** The statuses of the answers to posts. */
  readonly posts: readonly number[]
  /** The calls that the page was asked to run. */
  readonly told: readonly string[]
  say(text: string): Promise<void>
  /** Settles a call, and waits for what comes of it. */
  approve(id: string, approved?: boolean): Promise<void>
  give(name: string, id: string, output?: string): Promise<void>
  rest(): Promise<void>
  status(): Promise<SessionStatus | undefined>
}

interface Setup {
  readonly when?: When
  readonly maxTurns?: number | undefined
  readonly model?: ReturnType<typeof fake>
  readonly tools?: readonly Tool[]
}

/** The real `Chat` of `@ai-sdk/react` at runs in this process. */
function openPage({
  when = sendWhenSettled,
  maxTurns,
  model = adapter,
  tools = own,
}: Setup = {}): Page {
  const engine = createEngine({ adapter: model, tools: [...tools, help], retry: false, maxTurns })
  const runs = createRuns({ engine, store: memoryStore() })
  const posts: number[] = []
  const told: string[] = []
  const chat = new Chat<UIMessage>({
    id: 'ada',
    sendAutomaticallyWhen: when,
    onToolCall: ({ toolCall }) => void told.push(toolCall.toolCallId),
    transport: new DefaultChatTransport({
      api: 'http://localhost/api/chat',
      fetch: async (_url, init) => {
        if (init?.method === 'GET') return resumeUiMessages(runs, 'ada')
        if (posts.length > 20) throw new Error('the page sends for ever')
        const { messages, ...posted } = (await new Request('http://localhost/', init).json()) as {
          readonly messages: readonly UiMessageInput[]
          readonly trigger?: string
          readonly messageId?: string
        }
        const { trigger, messageId } = posted
        const options = { trigger, messageId, authorize: () => true }
        const response = await sendUiMessages(runs, 'ada', messages, options)
        posts.push(response.status)
        return response
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
    runs,
    posts,
    told,
    rest,
    async say(text) {
      await chat.sendMessage({ text })
      await rest()
    },
    async approve(id, approved = true) {
      await chat.addToolApprovalResponse({ id: approvalIdOf(chat.messages, id), approved })
      await rest()
    },
    async give(name, toolCallId, output = 'ok') {
      await chat.addToolOutput({ tool: name, toolCallId, output })
      await rest()
    },
    status: async () => (await runs.get('ada'))?.session.status,
  }
}

/** What messages show: texts, calls with how far they are, questions. */
function shown(messages: readonly { role: string; parts: readonly object[] }[]): string[] {
  return messages.map(({ role, parts }) => {
    const words = (parts as readonly Record<string, unknown>[]).flatMap((part) => {
      if (part['type'] === 'text') return String(part['text'])
      if (part['type'] === 'data-question') return '?'
      return 'toolCallId' in part ? `${String(part['toolCallId'])} ${String(part['state'])}` : []
    })
    return `${role}: ${words.join(', ')}`
  })
}

const never: When = () => false
const either: When = (page) => withApprovals(page) || withOutputs(page)

describe('a page that sends by itself', () => {
  test.each([
    ['stamp:g help:a=pay:i', 'awaiting_tools'],
    ['ask:g help:a=pay:i', 'awaiting_user'],
    ['pay:g help:a=pay:i', 'awaiting_approval'],
  ] as const)(
    'does not send for ever when an approval inside an agent leaves the run waiting (%s)',
    async (words, status) => {
      const page = openPage({ when: status === 'awaiting_tools' ? either : withApprovals })
      await page.say(words)
      await page.approve('a/i')
      expect(page.posts).toEqual([200, 200])
      expect(page.chat.error).toBeUndefined()
      expect(await page.status()).toBe(status)
      // What is open is in the last step, so that it can be settled.
      if (status === 'awaiting_approval') await page.approve('g')
      else if (status === 'awaiting_tools') await page.give('stamp', 'g')
      if (status !== 'awaiting_user') expect(await page.status()).toBe('completed')
    },
  )

  test.each([
    ['a handler that halts', 'stop:s', undefined],
    ['the limit of turns', 'look:l', 1],
  ])('does not send when the run ends with a tool: %s', async (_name, words, maxTurns) => {
    for (const when of [withOutputs, either, sendWhenSettled]) {
      const page = openPage({ when, maxTurns })
      await page.say(words)
      expect(page.posts).toEqual([200])
      expect(page.chat.status).toBe('ready')
      await page.chat.resumeStream()
      await page.rest()
      expect(page.posts).toEqual([200])
    }
  })

  test('does not send when the run is stopped in a tool', async () => {
    const page = openPage({ when: withOutputs })
    const saying = page.say('hang:h')
    while (!JSON.stringify(page.chat.messages).includes('input-available')) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    await page.runs.stop('ada')
    await saying
    expect(shown(page.chat.messages).at(-1)).toBe('assistant: h output-error')
    expect(await page.status()).toBe('halted')
    expect(page.posts).toEqual([200])
    expect(page.chat.error).toBeUndefined()
  })

  test.each<[string, readonly Script[]]>([
    ['behind a tool', [[look1], [['error', 'invalid_request']]]],
    ['in the arguments of a call', [[cut, ['error', 'invalid_request']]]],
    ['behind a whole call', [[look1, ['error', 'invalid_request']]]],
  ])('does not send what a run that failed has settled: %s', async (_name, scripts) => {
    for (const comesBack of [false, true]) {
      const model = fake({ scripts: [...scripts, ['Hello'], ['More']] })
      const page = openPage({ model })
      await page.say('go')
      expect(page.chat.status).toBe('error')
      if (comesBack) {
        page.chat.messages = toUiMessages((await page.runs.get('ada'))?.session ?? [])
        await page.chat.resumeStream()
        await page.rest()
      }
      for (const [words, answer] of [
        ['hi', 'Hello'],
        ['and', 'More'],
      ] as const) {
        await page.say(words)
        expect(page.chat.error).toBeUndefined()
        expect(shown(page.chat.messages).at(-1)).toBe(`assistant: ${answer}`)
      }
      expect(page.posts).toEqual([200, 200, 200])
    }
  })

  test('does not send when the answer after a tool is empty', async () => {
    const page = openPage({ model: fake({ scripts: [[look1], [], ['Hello']] }) })
    await page.say('go')
    await page.chat.resumeStream()
    await page.rest()
    expect(page.posts).toEqual([200])
  })

  test('is answered when it sends a step that is complete, and does not send it again', async () => {
    const page = openPage({ when: withOutputs })
    await page.say('stop:s')
    const messages = page.chat.messages.map((message) => ({
      ...message,
      parts: message.parts.slice(0, 2),
    }))
    page.chat.messages = messages
    expect(withOutputs({ messages })).toBe(true)
    await page.chat.sendMessage()
    await page.rest()
    expect(page.posts).toEqual([200, 200])
    expect(page.chat.error).toBeUndefined()
  })
})

/** Something that a run waits for, in the session itself or in an agent. */
interface Wait {
  readonly tool: 'pay' | 'stamp' | 'ask'
  readonly isInside: boolean
  readonly approved: boolean
  readonly byWords: boolean
}

const wait: fc.Arbitrary<Wait> = fc.record({
  tool: fc.constantFrom('pay', 'stamp', 'ask'),
  isInside: fc.boolean(),
  approved: fc.boolean(),
  byWords: fc.boolean(),
})

test('whatever a run waits for, in whatever order it is settled: a page never sends what it has sent, no call is asked to be run twice, and the run goes on', async () => {
  const helpers = { withApprovals, withOutputs, either, sendWhenSettled }
  let completed = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(wait, { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.nat()),
      fc.constantFrom(...(['withApprovals', 'withOutputs', 'either', 'sendWhenSettled'] as const)),
      fc.boolean(),
      async (waits, choices, helper, hasWords) => {
        const page = openPage({ when: helpers[helper] })
        const outer = waits.flatMap(({ tool: name, isInside }, at) =>
          isInside ? [] : `${name}:c${at}`,
        )
        const inside = waits.flatMap(({ tool: name, isInside }, at) =>
          isInside ? `${name}:c${at}` : [],
        )
        if (inside.length > 0) outer.push(`help:a=${inside.join('+')}`)
        await page.say(outer.join(' '))
        const left = waits.map((one, at) => ({ ...one, id: `${one.isInside ? 'a/' : ''}c${at}` }))
        let said = 1
        while (left.length > 0) {
          const [next] = left.splice((choices.next().value ?? 0) % left.length, 1)
          if (next === undefined) break
          if (next.tool === 'pay') await page.approve(next.id, next.approved)
          else if (next.tool === 'stamp' || !(hasWords && next.byWords)) {
            await page.give(next.tool, next.id)
          } else {
            // The user's words answer the first question that has no output, whichever that is.
            const { session } = (await page.runs.get('ada')) ?? {}
            const open = session ? questionsOf(session).map(({ toolCallId }) => toolCallId) : []
            const first = open.find((id) => id === next.id || left.some((one) => one.id === id))
            const at = left.findIndex(({ id }) => id === first)
            if (at >= 0) left.splice(at, 1, next)
            said++
            await page.say('this one')
          }
          expect(page.chat.error).toBeUndefined()
        }
        expect(page.posts.every((status) => status === 200)).toBe(true)
        expect(page.posts.length).toBeLessThanOrEqual(waits.length + said)
        expect(new Set(page.told).size).toBe(page.told.length)
        if (hasWords || helper === 'withApprovals' || helper === 'withOutputs') return
        expect(await page.status()).toBe('completed')
        completed++
      },
    ),
    { numRuns: 150, seed: 23 },
  )
  expect(completed).toBeGreaterThan(20)
})

describe('what was open when the user went on', () => {
  test('is settled in its own message, and nothing that the page shows is lost', async () => {
    const page = openPage()
    await page.say('pay:p')
    await page.say('hello')
    await page.approve('p')
    expect(page.posts).toEqual([200, 200, 200])
    expect(shown(page.chat.messages)).toEqual([
      'user: pay:p',
      'assistant: p output-available, Late.',
      'user: hello',
      'assistant: Hi.',
    ])
    expect(await page.status()).toBe('completed')
  })

  test('of a page that does not say with which message it goes on, too', async () => {
    const page = openPage({ when: never })
    await page.say('pay:p')
    await page.say('hello')
    await page.approve('p')
    const response = await sendUiMessages(page.runs, 'ada', page.chat.messages, {
      authorize: () => true,
    })
    expect(await response.text()).toMatch(/^data: \{"type":"start"\}/)
  })

  test('is shown once, and can be settled, when words answer a question beside it', async () => {
    const page = openPage()
    await page.say('ask:q pay:p')
    await page.say('this one')
    expect(shown(page.chat.messages)).toEqual([
      'user: ask:q pay:p',
      'assistant: q input-available, p approval-requested, ?',
      'user: this one',
      'assistant: ',
    ])
    await page.approve('p')
    expect(page.chat.error).toBeUndefined()
    expect(await page.status()).toBe('completed')
    expect(page.told).toEqual(['q', 'p'])
  })

  test('a call of the page is not handed to it again', async () => {
    const page = openPage()
    await page.say('ask:q stamp:g')
    await page.say('this one')
    expect(page.told).toEqual(['q', 'g'])
    await page.give('stamp', 'g')
    await page.chat.sendMessage()
    expect(await page.status()).toBe('completed')
  })

  test('a decision and words of one post are both taken, in order', async () => {
    for (const when of [never, sendWhenSettled]) {
      const page = openPage({ when: never })
      await page.say('pay:p')
      await page.approve('p')
      Object.assign(page.chat, { sendAutomaticallyWhen: when })
      await page.say('hello')
      expect(page.posts).toEqual([200, 200])
      expect(shown(page.chat.messages).slice(1)).toEqual([
        'assistant: p approval-responded',
        'user: hello',
        'assistant: p output-available, Done., Hi.',
      ])
      expect(await page.status()).toBe('completed')
    }
  })
})

describe('questions', () => {
  test('inside an agent is answered by an output', async () => {
    const page = openPage({ when: withOutputs })
    await page.say('help:a=ask:i')
    await page.give('ask', 'a/i', 'red')
    expect(await page.status()).toBe('completed')
    expect(page.posts).toEqual([200, 200])
  })

  test('that are answered by outputs in another order are both answered, in one post', async () => {
    const page = openPage({ when: withOutputs })
    await page.say('ask:q ask:r')
    await page.give('ask', 'r', 'second')
    await page.give('ask', 'q', 'first')
    expect(page.posts).toEqual([200, 200])
    const { messages } = (await page.runs.get('ada'))?.session.thread ?? { messages: [] }
    expect(messages.flatMap((one) => (one.role === 'tool' ? messageText(one) : []))).toEqual([
      '{"question":"Which one?","answer":"first"}',
      '{"question":"Which one?","answer":"second"}',
    ])
  })

  test('that is asked again after words names its tool', async () => {
    const page = openPage()
    await page.say('ask:q ask:r')
    await page.say('this one')
    expect(page.chat.lastMessage?.parts).toMatchObject([
      { type: 'data-question', id: 'r', data: { toolName: 'ask' } },
    ])
  })

  test('that is dismissed by a failure is answered with that', async () => {
    const page = openPage({ when: withOutputs })
    await page.say('ask:q')
    const state = 'output-error'
    await page.chat.addToolOutput({ state, tool: 'ask', toolCallId: 'q', errorText: 'not now' })
    await page.rest()
    expect(page.posts).toEqual([200, 200])
    const { thread } = (await page.runs.get('ada'))?.session ?? {}
    expect(JSON.stringify(thread)).toContain('The user dismissed the question: not now')
  })
})

test('regenerate while something waits says so, and resumeStream shows it again', async () => {
  const page = openPage()
  await page.say('pay:p')
  await page.chat.regenerate()
  expect(page.chat.error?.message).toMatch(/^the answer waits for somebody.*resumeStream\(\)/)
  await page.chat.resumeStream()
  expect(shown(page.chat.messages)).toEqual(['user: pay:p', 'assistant: p approval-requested'])
  await page.approve('p')
  expect(await page.status()).toBe('completed')
})

test('a page that is opened while a decision inside an agent waits for another can settle that', async () => {
  const page = openPage({ when: either })
  await page.say('stamp:g help:a=pay:i')
  await page.approve('a/i')
  page.chat.messages = toUiMessages((await page.runs.get('ada'))?.session ?? [])
  await page.give('stamp', 'g')
  expect(page.chat.error).toBeUndefined()
  expect(await page.status()).toBe('completed')
})

test('a page that is opened shows the value of a late result, and the arguments with which a call was approved', async () => {
  const page = openPage()
  await page.say('pay:p')
  await page.say('hello')
  await page.approve('p')
  await page.say('pay:r')
  await page.runs.approve('ada', 'r', { arguments: { euros: 1 } })
  const { session } = await page.runs.wait('ada')
  const parts = toUiMessages(session).flatMap((message) => message.parts)
  expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([
    { toolCallId: 'p', output: { paid: 3 }, input: { prompt: '' } },
    { toolCallId: 'r', output: { paid: 3 }, input: { euros: 1 } },
  ])
})

test('a message cannot be edited, neither in the page that sent it nor after a reload', async () => {
  for (const isReloaded of [false, true]) {
    const page = openPage()
    await page.say('one')
    await page.say('two')
    const { session } = (await page.runs.get('ada')) ?? {}
    if (isReloaded) page.chat.messages = toUiMessages(session ?? [])
    for (const index of [2, 0]) {
      const messageId = page.chat.messages[index]?.id ?? ''
      await page.chat.sendMessage({ text: 'other', messageId })
      expect(page.chat.error?.message).toMatch(/^the message was sent before.*cannot be edited/)
    }
    expect(page.posts).toEqual([200, 200, 409, 409])
    expect((await page.runs.get('ada'))?.session.thread).toEqual(session?.thread)
  }
})

test('an id that no conversation can have is refused', async () => {
  const { runs } = openPage()
  for (const id of ['x'.repeat(600), 'a\u0000b']) {
    expect((await resumeUiMessages(runs, id)).status).toBe(400)
    const said = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]
    expect((await sendUiMessages(runs, id, said)).status).toBe(400)
  }
})

test('after a reload a result without a value and the name of an image are what they were', async () => {
  const nothing = tool({ name: 'nothing', description: '', schema, handler: () => null })
  const call = ['tool_call', { id: 'n', name: 'nothing', arguments: {} }] as const
  const page = openPage({ model: fake({ scripts: [[call], ['Done.']] }), tools: [nothing] })
  const url =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const file = { type: 'file', mediaType: 'image/png', filename: 'a.png', url } as const
  await page.chat.sendMessage({ text: 'look', files: [file] })
  await page.rest()
  const [said, answer] = toUiMessages((await page.runs.get('ada'))?.session ?? [])
  expect(said?.parts.map((part) => ({ ...part }))).toEqual(page.chat.messages[0]?.parts)
  for (const parts of [answer?.parts, page.chat.lastMessage?.parts]) {
    expect(parts?.[1]).toMatchObject({ state: 'output-available', output: null })
  }
})

test('words that came while an answer was written are in the page only, and regenerate() sends them later', async () => {
  const page = openPage()
  await page.runs.send('ada', 'hang:h')
  await page.say('hello')
  expect(page.posts).toEqual([409])
  await page.runs.stop('ada')
  await page.chat.regenerate()
  await page.rest()
  expect(page.posts).toEqual([409, 200])
  expect(shown(page.chat.messages)).toEqual(['user: hello', 'assistant: Hi.'])
})

test('a failed answer that has begun goes on with regenerate(), and not with sendMessage()', async () => {
  const scripts: Script[] = [
    [
      ['text', 'Half '],
      ['error', 'invalid_request'],
    ],
    [['text', 'Whole']],
  ]
  const page = openPage({ model: fake({ scripts }) })
  await page.say('go')
  await page.chat.sendMessage()
  expect(page.posts).toEqual([200, 400])
  await page.chat.regenerate()
  await page.rest()
  expect(page.posts).toEqual([200, 400, 200])
  expect(shown(page.chat.messages)).toEqual(['user: go', 'assistant: Whole'])
})
