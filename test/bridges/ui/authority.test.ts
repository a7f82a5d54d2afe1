import { describe, expect, test } from 'vitest'
import { askUser, createEngine, messageText, Session, tool } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'
import {
  resumeUiMessages,
  sendAgUi,
  sendUiMessages,
  type PageAuthority,
  type SendUiOptions,
  type UiMessageInput,
} from '../../../src/ui.ts'

const schema = { type: 'object' } as const

/** A shop whose model makes the calls `name:id` of the user's words. `paid` are the refunds that were made. */
function shop(): { readonly runs: Runs; readonly paid: readonly string[] } {
  const paid: string[] = []
  const tools = [
    tool({
      name: 'refund',
      description: '',
      schema,
      needsApproval: true,
      handler: (_args, { toolCall }) => {
        paid.push(toolCall.id)
        return 'paid'
      },
    }),
    tool({ name: 'stamp', description: '', schema, manual: true }),
    tool({ name: 'ask', description: '', schema, handler: () => askUser('Which one?') }),
  ]
  const adapter = fake({
    script: ({ messages }): Script => {
      const last = messages.at(-1)
      const words = last?.role === 'user' ? messageText(last) : ''
      if (words === 'fail') return [['error', 'invalid_request']]
      if (!/^\w+:/.test(words)) return [['text', 'Done.']]
      return words.split(' ').map((word) => {
        const [name = '', id = ''] = word.split(':')
        return ['tool_call', { id, name, arguments: {} }]
      })
    },
  })
  const engine = createEngine({ adapter, tools, retry: false })
  return { runs: createRuns({ engine, store: memoryStore() }), paid }
}

const said = (text: string, id: string = text): UiMessageInput => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
})

const answer = (...parts: readonly object[]): UiMessageInput => ({
  id: 'a',
  role: 'assistant',
  parts: parts as UiMessageInput['parts'], // They have a type.
})

const decided = (toolCallId: string, ticket: string, approved = true): object => ({
  type: 'tool-refund',
  toolCallId,
  state: 'approval-responded',
  input: {},
  approval: { id: ticket, approved },
})

const question = (toolCallId: string, ticket: string): object => ({
  type: 'data-question',
  id: toolCallId,
  data: { toolCallId, toolName: 'ask', question: 'Which one?', options: {}, ticket },
})

const given = (toolCallId: string, output: unknown, name = 'stamp'): object => ({
  type: `tool-${name}`,
  toolCallId,
  state: 'output-available',
  input: {},
  output,
})

/** A post of a page, as `useChat` and as an AG-UI client send it. */
interface Post {
  readonly messages: readonly UiMessageInput[]
  readonly client: {
    readonly messages?: readonly object[]
    readonly resume?: readonly object[]
  }
}

const interrupt = (interruptId: string, payload: unknown): object => ({
  interruptId,
  status: 'resolved',
  payload,
})

/** Posts of a page, by the tickets that it was given. */
const posts: Readonly<
  Record<'approval' | 'denial' | 'result' | 'answer' | 'words', (ticket: string) => Post>
> = {
  approval: (ticket) => ({
    messages: [answer(decided('r', ticket))],
    client: { resume: [interrupt(ticket, { approved: true })] },
  }),
  denial: (ticket) => ({
    messages: [answer(decided('r', ticket, false))],
    client: { resume: [{ interruptId: ticket, status: 'cancelled' }] },
  }),
  result: () => ({
    messages: [answer(given('s', 'ok'))],
    client: { messages: [{ id: 't', role: 'tool', toolCallId: 's', content: 'ok' }] },
  }),
  answer: (ticket) => ({
    messages: [answer(given('q', 'red', 'ask'), question('q', ticket))],
    client: { resume: [interrupt(ticket, 'red')] },
  }),
  words: () => ({
    messages: [said('hello', 'u2')],
    client: { messages: [{ id: 'u2', role: 'user', content: 'hello' }] },
  }),
}

type Way = (runs: Runs, post: Post, options?: PageAuthority) => Promise<Response>

const ways: Readonly<Record<'sendUiMessages' | 'sendAgUi', Way>> = {
  sendUiMessages: (runs, { messages }, options) => sendUiMessages(runs, 'ada', messages, options),
  sendAgUi: (runs, { client }, options) =>
    sendAgUi(runs, 'ada', { threadId: 'ada', runId: 'r', messages: [], ...client }, options),
}

async function open(words: string): Promise<ReturnType<typeof shop>> {
  const own = shop()
  await own.runs.send('ada', words)
  await own.runs.wait('ada')
  return own
}

/** The ticket of what a call waits for. */
async function ticketOf(runs: Runs, callId: string, id = 'ada'): Promise<string> {
  const { session } = (await runs.get(id)) ?? {}
  const waits = session === undefined ? [] : Session.pending(session)
  return waits.find(({ call }) => call.id === callId)?.ticket ?? 'none'
}

/** A shop after these words, and a post about what waits there. */
async function opened(
  words: string,
  postOf: (ticket: string) => Post,
): Promise<ReturnType<typeof shop> & { readonly post: Post }> {
  const own = await open(words)
  const callId = words.split(':')[1] ?? ''
  return { ...own, post: postOf(await ticketOf(own.runs, callId)) }
}

const stateOf = async (runs: Runs): Promise<string> => JSON.stringify(await runs.get('ada'))

describe.each(Object.entries(ways))('%s', (_name, send) => {
  test.each([
    ['approves its own refund', 'refund:r', posts.approval, 'approvals of call r'],
    ['denies a call', 'refund:r', posts.denial, 'approvals of call r'],
    ['gives the result of a call', 'stamp:s', posts.result, 'tools of call s'],
  ])('refuses a page that %s', async (_title, words, postOf, what) => {
    const { runs, paid, post } = await opened(words, postOf)
    const before = await stateOf(runs)
    const refused = await send(runs, post)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      `${what} are not taken from a page unless the server allows them: pass authorize(action, callId) to it`,
    ])
    const denied = await send(runs, post, { authorize: () => false })
    expect([denied.status, await denied.text()]).toEqual([403, `authorize did not allow ${what}`])
    expect(await stateOf(runs)).toBe(before)
    expect(paid).toEqual([])
  })

  test.each([
    ['approval', 'refund:r', posts.approval, [['approvals', 'r']]],
    ['denial', 'refund:r', posts.denial, [['approvals', 'r']]],
    ['result', 'stamp:s', posts.result, [['tools', 's']]],
    ['answer', 'ask:q', posts.answer, [['messages', undefined]]],
    ['message', 'hello', posts.words, [['messages', undefined]]],
  ])('takes the %s that authorize allows', async (_title, words, postOf, expected) => {
    const { runs, post } = await opened(words, postOf)
    const asked: unknown[] = []
    const response = await send(runs, post, {
      authorize: (action, callId) => asked.push([action, callId]) > 0,
    })
    expect(response.status).toBe(200)
    await response.text()
    expect(asked).toEqual(expected)
    expect((await runs.wait('ada')).session.status).toBe('completed')
  })

  test('applies nothing of a post of which something is refused', async () => {
    const { runs, paid } = await open('refund:r stamp:s')
    const before = await stateOf(runs)
    const ticket = await ticketOf(runs, 'r')
    const post: Post = {
      messages: [answer(decided('r', ticket), given('s', 'ok')), said('hello', 'u2')],
      client: {
        resume: [interrupt(ticket, { approved: true })],
        messages: [
          { id: 't', role: 'tool', toolCallId: 's', content: 'ok' },
          { id: 'u2', role: 'user', content: 'hello' },
        ],
      },
    }
    for (const allowed of ['messages', 'approvals', 'tools']) {
      const response = await send(runs, post, { authorize: (action) => action === allowed })
      expect(response.status).toBe(403)
    }
    expect((await send(runs, post)).status).toBe(403)
    expect(await stateOf(runs)).toBe(before)
    expect(paid).toEqual([])
  })

  test('takes words and answers without authorize', async () => {
    const asking = await opened('ask:q', posts.answer)
    await (await send(asking.runs, asking.post)).text()
    expect((await asking.runs.wait('ada')).session.status).toBe('completed')
    const { runs } = await open('hello')
    await (await send(runs, posts.words(''))).text()
    expect((await runs.get('ada'))?.session.thread.messages).toHaveLength(4)
  })

  test('takes a message after a history that others have settled', async () => {
    const { runs, paid } = await open('refund:r stamp:s')
    const ticket = await ticketOf(runs, 'r')
    await runs.approve('ada', 'r')
    await runs.submitToolResult('ada', 's', 'ok')
    await runs.wait('ada')
    const post: Post = {
      messages: [
        said('refund:r stamp:s', 'm0'),
        answer(decided('r', ticket), given('s', 'ok')),
        said('thanks', 'u2'),
      ],
      client: {
        messages: [
          { id: 'm0', role: 'user', content: 'refund:r stamp:s' },
          { id: 't', role: 'tool', toolCallId: 's', content: 'ok' },
          { id: 'u2', role: 'user', content: 'thanks' },
        ],
        resume: [interrupt(ticket, { approved: true })],
      },
    }
    const response = await send(runs, post)
    expect(response.status).toBe(200)
    await response.text()
    expect(paid).toEqual(['r'])
    const { session } = await runs.wait('ada')
    expect(session.thread.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  })

  test('sends a Response of authorize as it is', async () => {
    const { runs, post } = await opened('refund:r', posts.approval)
    const mine = new Response('sign in first', { status: 401 })
    expect(await send(runs, post, { authorize: () => mine })).toBe(mine)
  })

  test('does not take anything else for authorize', async () => {
    const { runs } = shop()
    const options = { authorize: true } as unknown as PageAuthority
    await expect(send(runs, posts.words(''), options)).rejects.toThrow(
      'authorize must be a function',
    )
  })

  test('refuses an id with control characters', async () => {
    const { runs } = shop()
    const id = 'ada\r\n[error] forged'
    const client = { threadId: 'ada', runId: 'r', messages: [] }
    for (const response of [
      await sendUiMessages(runs, id, posts.words('').messages),
      await resumeUiMessages(runs, id),
      await sendAgUi(runs, id, { ...client, ...posts.words('').client }),
    ]) {
      expect(response.status).toBe(400)
    }
  })
})

test('a decision that AI SDK 5 sends as an output is a decision', async () => {
  const { runs, paid } = await open('refund:r')
  const ticket = await ticketOf(runs, 'r')
  const request = { type: 'data-approval', id: 'r', data: { toolCallId: 'r', ticket } }
  const messages = [answer(given('r', { approved: true }, 'refund'), request)]
  const options: SendUiOptions = { version: 5 }
  expect((await sendUiMessages(runs, 'ada', messages, options)).status).toBe(403)
  expect(paid).toEqual([])
  const authorize: PageAuthority['authorize'] = (action, callId) =>
    action === 'approvals' && callId === 'r'
  await (await sendUiMessages(runs, 'ada', messages, { ...options, authorize })).text()
  expect(paid).toEqual(['r'])
})

test('a client that asks for a failed run to go on needs resume', async () => {
  const { runs } = await open('fail')
  const post: Post = {
    messages: [],
    client: { messages: [{ id: 'x', role: 'assistant', content: 'half' }] },
  }
  const asked: string[] = []
  const refused = await ways.sendAgUi(runs, post, {
    authorize: (action) => asked.push(action) < 0,
  })
  expect([refused.status, asked]).toEqual([403, ['resume']])
})

describe('a post of which something is wrong', () => {
  const deep = JSON.parse('['.repeat(600) + ']'.repeat(600)) as unknown
  const allowed = { authorize: () => true } as const

  test.each<[string, (approval: object) => readonly UiMessageInput[]]>([
    ['words without a text', (approval) => [answer(approval), said('', 'u2')]],
    ['a result that is nested too deep', (approval) => [answer(approval, given('s', deep))]],
    [
      'a result with __proto__',
      (approval) => [answer(approval, given('s', JSON.parse('{"__proto__":1}')))],
    ],
  ])('has no effect at all: %s', async (_title, messagesOf) => {
    const { runs, paid } = shop()
    await runs.send('x', 'refund:r stamp:s')
    await runs.wait('x')
    const messages = messagesOf(decided('r', await ticketOf(runs, 'r', 'x')))
    expect((await sendUiMessages(runs, 'x', messages, allowed)).status).toBe(400)
    expect(paid).toEqual([])
    expect((await runs.get('x'))?.session.pendingApprovals).toHaveLength(1)
  })

  test.each<[string, object | null]>([
    ['a thread id of another kind', { threadId: {}, runId: 'r' }],
    ['no ids', {}],
  ])('has no effect at all over AG-UI: %s', async (_title, ids) => {
    const { runs, paid } = shop()
    await runs.send('x', 'refund:r')
    await runs.wait('x')
    const input = {
      messages: [],
      resume: [interrupt(await ticketOf(runs, 'r', 'x'), { approved: true })],
      ...ids,
    }
    const sent = sendAgUi(runs, 'x', input as never, allowed)
    expect([400, 'rejected']).toContain(
      await sent.then(
        ({ status }) => status,
        () => 'rejected',
      ),
    )
    expect(paid).toEqual([])
  })

  test.each([
    { type: 'tool-stamp', toolCallId: 's', state: { toString: 1 }, input: {} },
    { type: 'tool-stamp', toolCallId: 's', state: 'output-error', errorText: { toString: 1 } },
    { type: 'tool-refund', toolCallId: 'r', state: 'output-error', errorText: { toString: 1 } },
  ])('is answered, whatever its members are: %j', async (part) => {
    const { runs } = shop()
    await runs.send('x', 'refund:r stamp:s')
    await runs.wait('x')
    const { status } = await sendUiMessages(runs, 'x', [answer(part)], allowed)
    expect(status).toBeLessThan(500)
  })
})
