import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithToolCalls,
  validateUIMessages,
  type ChatInit,
  type ChatState,
  type UIMessage,
} from 'ai-5'
import { expect, test } from 'vitest'
import { toUiMessages } from '../../../src/ui.ts'
import { service } from '../../durable/runs/service.ts'
import { openRunsDesk, type Desk } from './desk.ts'

/** The chat of AI SDK 5, with the state in an object. `@ai-sdk/react` keeps the same in React. */
class Chat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => (state.messages = [...state.messages, message]),
      popMessage: () => (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => {
        state.messages = state.messages.with(index, structuredClone(message))
      },
      snapshot: (value) => structuredClone(value),
    }
    super({ ...init, state })
  }
}

function pageAt({ url }: Desk, init: ChatInit<UIMessage> = {}): Chat {
  return new Chat({ id: 'ada', transport: new DefaultChatTransport({ api: url }), ...init })
}

function shown({ messages }: Chat): unknown[] {
  return messages.map(({ role, parts }) => [
    role,
    ...parts.flatMap((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'step-start') return []
      return 'state' in part && 'toolCallId' in part ? `${part.type} ${part.state}` : part.type
    }),
  ])
}

async function settled(chat: Chat): Promise<void> {
  while (chat.status === 'submitted' || chat.status === 'streaming') {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('AI SDK 5 shows an answer, a question and a failure', async () => {
  const { runs } = service()
  await using desk = await openRunsDesk(runs, 5)
  const chat = pageAt(desk)
  for (const text of ['hello', 'ask', '14C', 'fail']) await chat.sendMessage({ text })
  expect(shown(chat)).toEqual([
    ['user', 'hello'],
    ['assistant', 'Hello, Ada.'],
    ['user', 'ask'],
    ['assistant', 'tool-ask input-available', 'data-question'],
    ['user', '14C'],
    ['assistant', 'Done.'],
    ['user', 'fail'],
    ['assistant', 'Half'],
  ])
  expect(chat.error?.message).toBe('the run ended with provider_unavailable')
})

test('AI SDK 5 decides about a call by an output, which the real one then replaces', async () => {
  for (const approved of [true, false]) {
    const { runs } = service()
    await using desk = await openRunsDesk(runs, 5)
    const chat = pageAt(desk, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    })
    await chat.sendMessage({ text: 'pay' })
    expect(shown(chat).at(-1)).toEqual(['assistant', 'tool-pay input-available', 'data-approval'])
    await chat.addToolResult({ tool: 'pay', toolCallId: 'c2', output: { approved } })
    await settled(chat)
    expect(chat.error).toBeUndefined()
    const state = approved ? 'output-available' : 'output-error'
    expect(shown(chat).at(-1)).toEqual(['assistant', `tool-pay ${state}`, 'data-approval', 'Done.'])
    expect(chat.messages.at(-1)?.parts[1]).toMatchObject(
      approved ? { output: 'paid' } : { errorText: 'the call was denied' },
    )
  }
})

test('AI SDK 5 goes on with a run after a reload', async () => {
  const { runs, open, reached } = service()
  await using desk = await openRunsDesk(runs, 5)
  const left = pageAt(desk)
  const sending = left.sendMessage({ text: 'slow' })
  await reached
  await left.stop()
  await sending
  const { session } = (await runs.get('ada')) ?? {}
  const messages: UIMessage[] = session ? toUiMessages(session, { version: 5 }) : []
  await validateUIMessages({ messages })
  const chat = pageAt(desk, { messages })
  const resuming = chat.resumeStream()
  open()
  await resuming
  expect(shown(chat)).toEqual([
    ['user', 'slow'],
    ['assistant', 'Let me see.', 'tool-slow output-available', 'Done.'],
  ])
})
