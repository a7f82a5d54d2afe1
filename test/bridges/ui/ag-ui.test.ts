import { HttpAgent, type AgentSubscriber } from '@ag-ui/client'
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest'
import { createEngine, handoff, Session, streamChat, type StreamEvent } from '../../../src/index.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import {
  toAgUi,
  toAgUiResponse,
  type AgUiEvent,
  type AgUiIds,
  type RunEvents,
} from '../../../src/ui.ts'
import { service, serviceEngine } from '../../durable/runs/service.ts'
import { openDesk } from './desk.ts'

// Whatever the client strips from an event or finds odd about it, it says in a warning.
let warned: MockInstance
beforeEach(() => {
  warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
})
afterEach(() => {
  expect(warned.mock.calls).toEqual([])
  warned.mockRestore()
})

/** What the real client makes of a run. */
interface Seen {
  readonly agent: HttpAgent
  readonly types: string[]
  readonly custom: unknown[]
  error?: string
}

/** A client whose requests are answered in this process. */
function agentOf(answer: (input: AgUiIds) => Response): Seen {
  const agent = new HttpAgent({
    url: 'http://localhost/agent',
    threadId: 't1',
    fetch: async (url, init) => answer((await new Request(url, init).json()) as AgUiIds),
  })
  return { agent, types: [], custom: [] }
}

async function run(
  seen: Seen,
  parameters: Parameters<HttpAgent['runAgent']>[0] = {},
): Promise<void> {
  const subscriber: AgentSubscriber = {
    onEvent: ({ event }) => void seen.types.push(event.type),
    onCustomEvent: ({ event }) => void seen.custom.push([event['name'], event['value']]),
    onRunErrorEvent: ({ event }) => {
      seen.error = event.message
    },
    onRunFailed: ({ error }) => {
      seen.error ??= `failed: ${error.message}`
    },
  }
  await seen.agent.runAgent({ runId: 'r1', ...parameters }, subscriber).catch(() => undefined)
}

/** Reads a source by the real client. */
async function read(events: RunEvents): Promise<Seen> {
  const seen = agentOf((input) => toAgUiResponse(events, input))
  await run(seen)
  return seen
}

const engine = serviceEngine(async () => 'seen')

describe('read by HttpAgent of @ag-ui/client', () => {
  test('text and a tool are messages in the order of the thread', async () => {
    const seen = await read(streamChat(engine, 'slow'))
    expect(seen.error).toBeUndefined()
    expect(seen.agent.messages).toMatchObject([
      {
        id: 'r1-1',
        role: 'assistant',
        content: 'Let me see.',
        toolCalls: [{ id: 'c1', function: { name: 'slow', arguments: '{}' } }],
      },
      { role: 'tool', toolCallId: 'c1', content: 'seen' },
      { id: 'r1-2', role: 'assistant', content: 'Done.' },
    ])
    expect(seen.types.filter((type) => /RUN|STEP/.test(type))).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'STEP_FINISHED',
      'STEP_STARTED',
      'STEP_FINISHED',
      'RUN_FINISHED',
    ])
  })

  test('a run that is stopped in a tool has no step beside that of its answer: only pages of useChat need one', async () => {
    const stopping = new AbortController()
    const halting = serviceEngine(async () => {
      stopping.abort()
      return 'seen'
    })
    const seen = await read(streamChat(halting, 'slow', { signal: stopping.signal }))
    expect(seen.error).toBeUndefined()
    expect(seen.types.filter((type) => /RUN|STEP/.test(type))).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'STEP_FINISHED',
      'RUN_FINISHED',
    ])
  })

  test('arguments that stream are those of the call', async () => {
    const adapter = fake({
      scripts: [
        [
          ['reasoning', 'A thought.'],
          ['tool_call_delta', { id: 'c1', name: 'slow', argumentsDelta: '{"a"' }],
          ['tool_call_delta', { id: 'c1', argumentsDelta: ':1}' }],
        ],
        [
          ['text', 'Done.'],
          ['usage', { inputTokens: 5, extra: { other: 1 } }],
        ],
      ],
    })
    const streaming = createEngine({ adapter, tools: [] })
    const seen = await read(streamChat(streaming, 'x'))
    expect(seen.error).toBeUndefined()
    expect(seen.agent.messages).toMatchObject([
      { role: 'reasoning', content: 'A thought.' },
      { role: 'assistant', toolCalls: [{ function: { arguments: '{"a":1}' } }] },
      { role: 'tool', content: '{"error":"the tool failed with not_found"}' },
      { role: 'assistant', content: 'Done.' },
    ])
  })

  test('a run from the log of runs reads the same', async () => {
    const { runs, open } = service()
    open()
    await runs.send('ada', 'slow')
    const seen = await read(runs.follow('ada'))
    expect(seen.error).toBeUndefined()
    expect(seen.agent.messages).toHaveLength(3)
  })

  test('an approval is an interrupt, and the run that goes on has the result', async () => {
    let session = Session.create({ id: 'ada' })
    const seen = agentOf((input) => {
      const { resume = [] } = input as { resume?: { interruptId: string; payload?: unknown }[] }
      const [decided] = resume
      const ticket = decided?.interruptId
      if (decided !== undefined) session = Session.approve(session, 'c2', { ticket })
      const stream = decided
        ? Session.streamResume(engine, session)
        : Session.streamReply(engine, session, 'pay')
      stream.result.then(
        (done) => (session = done.session),
        () => undefined,
      )
      return toAgUiResponse(stream, input)
    })
    await run(seen)
    expect(seen.agent.pendingInterrupts).toMatchObject([
      {
        id: Session.pending(session)[0]?.ticket,
        reason: 'approval',
        toolCallId: 'c2',
        metadata: { toolName: 'pay', input: { euros: 3 } },
      },
    ])
    await run(seen, {
      runId: 'r2',
      resume: [
        {
          interruptId: seen.agent.pendingInterrupts[0]?.id ?? '',
          status: 'resolved',
          payload: { approved: true },
        },
      ],
    })
    expect(seen.error).toBeUndefined()
    expect(seen.agent.pendingInterrupts).toEqual([])
    expect(seen.agent.messages).toMatchObject([
      { role: 'assistant', toolCalls: [{ id: 'c2' }] },
      { role: 'tool', toolCallId: 'c2', content: 'paid' },
      { role: 'assistant', content: 'Done.' },
    ])
  })

  test('a question is an interrupt with its options', async () => {
    const seen = await read(streamChat(engine, 'ask'))
    expect(seen.agent.pendingInterrupts).toMatchObject([
      {
        id: 'c3',
        reason: 'question',
        message: 'Which seat?',
        metadata: { options: { choices: ['14C', '2A'] } },
      },
    ])
  })

  test('a tool that the client runs is left open', async () => {
    const seen = await read(streamChat(engine, 'hand'))
    expect(seen.error).toBeUndefined()
    expect(seen.agent.messages).toMatchObject([
      { role: 'assistant', toolCalls: [{ id: 'c4', function: { arguments: '{"ticket":7}' } }] },
    ])
  })

  test('a failure is told in safe words, with what came before', async () => {
    const seen = await read(streamChat(engine, 'fail'))
    expect(seen.error).toBe('the run ended with provider_unavailable')
    expect(seen.agent.messages).toMatchObject([{ role: 'assistant', content: 'Half' }])
  })

  test('a failure before the first event is told, too', async () => {
    const adapter = fake({ script: [['preflight_error', 'rate_limited', {}]] })
    const seen = await read(streamChat(createEngine({ adapter, retry: false }), 'x'))
    expect(seen.error).toBe('the run ended with rate_limited')
    expect(seen.types).toEqual(['RUN_STARTED', 'RUN_ERROR'])
  })

  test('a run that was stopped is cancelled', async () => {
    const stopping = new AbortController()
    const adapter = fake({
      script: [
        ['text', 'Half'],
        ['delay', 60_000],
      ],
    })
    const events = streamChat(createEngine({ adapter }), 'x', {
      signal: stopping.signal,
      onEvent: ({ type }) => void (type === 'text_delta' && stopping.abort()),
    })
    const all: AgUiEvent[] = []
    for await (const event of toAgUi(events, { threadId: 't', runId: 'r' })) all.push(event)
    expect(all.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  })

  test('an answer that is written again is another message, and the first is named', async () => {
    const started: StreamEvent = { type: 'message_started', requestId: 'r', provider: 'p' }
    async function* events(): AsyncGenerator<StreamEvent, void> {
      yield started
      yield { type: 'text_delta', delta: 'Once upon' }
      yield { type: 'tool_call_started', id: 'c1', name: 'slow' }
      yield started
      yield { type: 'text_delta', delta: 'Once more' }
    }
    const seen = await read(events())
    expect(seen.error).toBeUndefined()
    expect(seen.custom).toEqual([['restart', { messageId: 'r1-1' }]])
    expect(seen.agent.messages).toMatchObject([
      { id: 'r1-1', content: 'Once upon' },
      { id: 'r1-1-again', content: 'Once more' },
    ])
  })

  test('abortRun over HTTP cancels the run', async () => {
    let onClosed: () => void = () => undefined
    const isClosed = new Promise<void>((resolve) => (onClosed = resolve))
    const adapter = fake({
      script: [
        ['text', 'a'],
        ['delay', 60_000],
      ],
      cleanupObserver: () => onClosed(),
    })
    const slow = createEngine({ adapter, clock: virtualClock() })
    await using desk = await openDesk(() =>
      toAgUiResponse(streamChat(slow, 'x'), { threadId: 't', runId: 'r' }),
    )
    const agent = new HttpAgent({ url: desk.url })
    const running = agent.runAgent({}, { onTextMessageContentEvent: () => agent.abortRun() })
    await running.catch(() => undefined)
    await isClosed
    expect(adapter.openStreams).toBe(0)
  })
})

describe('who answered, and why the answer ended', () => {
  test('are on the messages of a client', async () => {
    const expert = createEngine({
      name: 'Expert',
      adapter: fake({
        script: () => [
          ['text', 'Half'],
          ['finish', 'length'],
        ],
      }),
    })
    const desk = createEngine({
      name: 'Desk',
      adapter: fake({ scripts: [['Wait.', ['tool_call', { id: 'h', name: 'handoff' }]]] }),
      tools: [handoff(expert)],
    })
    const seen = await read(streamChat(desk, 'help'))
    expect(seen.error).toBeUndefined()
    expect(seen.agent.messages.filter(({ role }) => role === 'assistant')).toMatchObject([
      { content: 'Wait.', name: 'Desk' },
      { content: 'Half', name: 'Expert', metadata: { finishReason: 'length' } },
    ])
  })

  test('an answer that was filtered is a message without text', async () => {
    const adapter = fake({ scripts: [[['finish', 'content_filter']]] })
    const seen = await read(streamChat(createEngine({ adapter }), 'hi'))
    expect(seen.error).toBeUndefined()
    expect(seen.agent.messages).toMatchObject([
      { role: 'assistant', metadata: { finishReason: 'content_filter' } },
    ])
  })
})
