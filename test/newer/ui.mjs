// `allm-ts/ui` is read by the AI SDK 7: by `readUIMessageStream`, and by the `Chat` that `useChat` renders, over loopback HTTP.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { Chat } from '@ai-sdk/react'
import {
  asSchema,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
  uiMessageChunkSchema,
  validateUIMessages,
} from 'ai'
import { agentTool, askUser, createEngine, Session, streamChat, tool } from 'allm-ts'
import { createRuns, toNodeHandler } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'
import { resumeUiMessages, sendUiMessages, toUiMessages, toUiMessageStream } from 'allm-ts/ui'

const version = 7
const schema = { type: 'object' }

/** Everything of a test: an engine whose answers depend on the user's last words, and runs on it. */
function desk() {
  let open = () => undefined
  let reach = () => undefined
  const gate = new Promise((resolve) => (open = resolve))
  const reached = new Promise((resolve) => (reach = resolve))
  const scripts = {
    hello: [
      ['reasoning', 'A greeting.'],
      ['text', 'Hello'],
      ['text', ', Ada.'],
    ],
    slow: [['text', 'Let me see.'], call('c1', 'slow')],
    pay: [call('c2', 'pay', { euros: 3 })],
    ask: [call('c3', 'ask')],
    hand: [call('c4', 'hand', { ticket: 7 })],
    help: [call('c5', 'help', { prompt: 'pay' })],
    fail: [
      ['text', 'Half'],
      ['error', 'provider_unavailable'],
    ],
  }
  const adapter = fake({
    script: ({ messages }) => {
      const last = messages.at(-1)
      return last?.role === 'user' ? (scripts[last.content] ?? []) : [['text', 'Done.']]
    },
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema,
    needsApproval: true,
    handler: () => 'paid',
  })
  const inner = createEngine({ adapter, tools: [pay] })
  const engine = createEngine({
    adapter,
    retry: false,
    tools: [
      pay,
      agentTool({ name: 'help', description: 'Helps.', engine: inner }),
      tool({
        name: 'slow',
        description: 'Takes long.',
        schema,
        handler: async () => {
          reach()
          await gate
          return { seen: true }
        },
      }),
      tool({ name: 'ask', description: 'Asks.', schema, handler: () => askUser('Which seat?') }),
      tool({ name: 'hand', description: 'By hand.', schema, manual: true }),
    ],
  })
  return { engine, runs: createRuns({ engine, store: memoryStore() }), open, reached }
}

function call(id, name, args = {}) {
  return ['tool_call', { id, name, arguments: args }]
}

/** Serves runs to `useChat` for as long as a test lasts. */
async function serve(context, runs) {
  const handle = async (request) => {
    const [, , , id, action] = new URL(request.url).pathname.split('/')
    if (request.method === 'GET' && action === 'stream')
      return resumeUiMessages(runs, id, { version })
    const body = await request.json()
    return sendUiMessages(runs, body.id, body.messages, {
      version,
      trigger: body.trigger,
      authorize: () => true,
    })
  }
  const server = createServer(toNodeHandler(handle))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${server.address().port}/api/chat`,
    cut: () => server.closeAllConnections(),
  }
}

function pageAt({ url }, init = {}) {
  return new Chat({ id: 'ada', transport: new DefaultChatTransport({ api: url }), ...init })
}

/** What a page shows. */
function shown({ messages }) {
  return messages.map(({ role, parts }) => [
    role,
    ...parts.flatMap((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'step-start') return []
      return part.toolCallId === undefined ? part.type : `${part.type} ${part.state}`
    }),
  ])
}

async function until(isSo) {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

const isIdle = (chat) => () => chat.status === 'ready' || chat.status === 'error'

/** Reads a stream by the real reader, after each chunk was checked by the schema of the AI SDK. */
async function read(stream) {
  const errors = []
  const chunks = []
  const checked = stream.pipeThrough(
    new TransformStream({
      async transform(chunk, controller) {
        const sent = JSON.parse(JSON.stringify(chunk))
        const { success } = await asSchema(uiMessageChunkSchema).validate(sent)
        if (!success) errors.push(`schema: ${JSON.stringify(sent)}`)
        chunks.push(sent)
        controller.enqueue(sent)
      },
    }),
  )
  let message
  const onError = (error) => errors.push(error.message)
  for await (const next of readUIMessageStream({ stream: checked, onError })) message = next
  return { message, errors, chunks }
}

for (const words of ['hello', 'slow', 'pay', 'ask', 'hand', 'fail']) {
  test(`readUIMessageStream takes the run of ${words}, and what is saved of it is the same`, async () => {
    const { engine, open } = desk()
    open()
    const run = Session.streamStart(engine, words)
    const { message, errors } = await read(toUiMessageStream(run, { version }))
    assert.deepEqual(errors, words === 'fail' ? ['the run ended with provider_unavailable'] : [])
    const messages = toUiMessages(run.session, { version })
    await validateUIMessages({ messages })
    const plain = ({ parts }) =>
      parts.map(({ id: _id, providerMetadata: _own, ...part }) => JSON.parse(JSON.stringify(part)))
    assert.deepEqual(plain(messages.at(-1)), plain(message))
    assert.equal(messages.at(-1).id, message.id)
  })
}

test('an answer that is written again is taken back', async () => {
  const started = { type: 'message_started', requestId: 'r', provider: 'p' }
  async function* events() {
    yield started
    yield { type: 'text_delta', delta: 'Once upon' }
    yield { type: 'tool_call_started', id: 'c1', name: 'slow' }
    yield started
    yield { type: 'text_delta', delta: 'Once more' }
  }
  const { message, errors } = await read(toUiMessageStream(events(), { version }))
  assert.deepEqual(errors, [])
  assert.deepEqual(shown({ messages: [message] }), [['assistant', 'Once more']])
})

test('a run that was stopped is interrupted', async () => {
  const stopping = new AbortController()
  const { engine } = desk()
  const onEvent = ({ type }) => type === 'text_delta' && stopping.abort()
  const run = streamChat(engine, 'hello', { signal: stopping.signal, onEvent })
  const { errors, chunks } = await read(toUiMessageStream(run, { version }))
  assert.deepEqual(errors, [])
  assert.deepEqual(chunks.at(-1), { type: 'finish', finishReason: 'interrupted' })
})

/** The id of the approval that a page was asked for last. */
function approvalOf(chat) {
  return chat.messages.at(-1).parts.findLast(({ approval }) => approval).approval.id
}

test('Chat shows answers, approves, denies, answers and gives results', async (context) => {
  for (const [words, act, expected] of [
    ['hello', undefined, ['reasoning', 'Hello, Ada.']],
    [
      'pay',
      (chat) => chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true }),
      ['tool-pay output-available', 'Done.'],
    ],
    [
      'pay',
      (chat) =>
        chat.addToolApprovalResponse({ id: approvalOf(chat), approved: false, reason: 'no' }),
      ['tool-pay output-denied', 'Done.'],
    ],
    [
      'hand',
      (chat) => chat.addToolOutput({ tool: 'hand', toolCallId: 'c4', output: { stamped: true } }),
      ['tool-hand output-available', 'Done.'],
    ],
    [
      'ask',
      (chat) => chat.addToolOutput({ tool: 'ask', toolCallId: 'c3', output: '2A' }),
      ['tool-ask output-available', 'data-question', 'Done.'],
    ],
    [
      'help',
      (chat) => chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true }),
      ['tool-help output-available', 'data-progress', 'tool-pay output-available', 'Done.'],
    ],
  ]) {
    const { runs } = desk()
    const server = await serve(context, runs)
    const chat = pageAt(server, {
      sendAutomaticallyWhen: (options) =>
        lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
        lastAssistantMessageIsCompleteWithToolCalls(options),
    })
    await chat.sendMessage({ text: words })
    await act?.(chat)
    await until(() => chat.messages.at(-1).parts.at(-1).text?.endsWith('.'))
    await until(isIdle(chat))
    assert.equal(chat.error, undefined)
    assert.deepEqual(shown(chat), [['user', words], ['assistant'].concat(expected)])
    await validateUIMessages({ messages: chat.messages })
  }
})

test('Chat is refused another answer to a message that has one', async (context) => {
  const { runs } = desk()
  const chat = pageAt(await serve(context, runs))
  await chat.sendMessage({ text: 'hello' })
  await chat.regenerate()
  assert.match(chat.error.message, /a run does not go back/)
})

test('Chat shows a failure in safe words', async (context) => {
  const { runs } = desk()
  const server = await serve(context, runs)
  const chat = pageAt(server)
  await chat.sendMessage({ text: 'fail' })
  assert.equal(chat.error.message, 'the run ended with provider_unavailable')
})

test('Chat that comes back after a broken connection has the whole answer, once', async (context) => {
  const { runs, open, reached } = desk()
  const server = await serve(context, runs)
  const chat = pageAt(server)
  const sending = chat.sendMessage({ text: 'slow' })
  await reached
  await until(() => chat.messages.at(-1).role === 'assistant')
  server.cut()
  await sending
  assert.equal(chat.status, 'error')
  const resuming = chat.resumeStream()
  open()
  await resuming
  assert.deepEqual(shown(chat), [
    ['user', 'slow'],
    ['assistant', 'Let me see.', 'tool-slow output-available', 'Done.'],
  ])
})

test('Chat that is opened in the middle of a run goes on with it', async (context) => {
  const { runs, open, reached } = desk()
  const server = await serve(context, runs)
  const left = pageAt(server)
  const sending = left.sendMessage({ text: 'slow' })
  await reached
  await left.stop()
  await sending
  const { session } = await runs.get('ada')
  const chat = pageAt(server, { messages: toUiMessages(session, { version }) })
  const resuming = chat.resumeStream()
  open()
  await resuming
  assert.deepEqual(shown(chat), [
    ['user', 'slow'],
    ['assistant', 'Let me see.', 'tool-slow output-available', 'Done.'],
  ])
})
