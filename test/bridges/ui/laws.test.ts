import { HttpAgent } from '@ag-ui/client'
import type { UIMessage } from 'ai'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { turnsOf } from '../../../src/bridges/ui/to-ui-messages.ts'
import { expiry } from '../../../src/engine/calls/settle.ts'
import {
  imageFromBase64,
  imagePart,
  messageText,
  Session,
  textPart,
  validateMessage,
  SessionError,
  ValidationError,
  type JsonValue,
  type SessionCommand,
  type SessionStream,
  type StreamEvent,
} from '../../../src/index.ts'
import {
  fromUiMessages,
  toAgUiResponse,
  toUiMessages,
  toUiMessageStream,
  uiApprovals,
  uiCommands,
  uiPast,
  type UiAnswerMetadata,
} from '../../../src/ui.ts'
import {
  commandFor,
  engineOf,
  isEnd,
  plan,
  untilEnd,
  type Plan,
} from '../../durable/client/plans.ts'
import { serviceEngine } from '../../durable/runs/service.ts'
import { json, text } from '../../support/arbitraries.ts'
import { streamEvent } from '../../support/run-arbitraries.ts'
import { readBy, type ReadMessage } from './readers.ts'

const legalErrors = /^the run ended with /

async function* from<T>(events: Iterable<T>): AsyncGenerator<T, void> {
  yield* events
}

/** An event about the call `a`, in which there is an agent with a call `b`. */
const agentEvent: fc.Arbitrary<StreamEvent> = fc.oneof(
  fc.constantFrom<StreamEvent>(
    { type: 'tool_execution_started', id: 'a', name: 'help', arguments: {} },
    {
      type: 'approval_requested',
      toolCallId: 'a/b',
      toolName: 'pay',
      call: { id: 'a/b', name: 'pay', arguments: {} },
    },
    {
      type: 'ask_user_requested',
      toolCallId: 'a/b',
      toolName: 'ask',
      question: '?',
      options: {},
    },
  ),
  fc
    .oneof(
      streamEvent,
      fc.constantFrom<StreamEvent>(
        {
          type: 'tool_execution_completed',
          id: 'b',
          name: 'pay',
          result: { ok: 1 },
          durationMs: 1,
        },
        { type: 'tool_result_encoded', id: 'b', content: 'no', metadata: { denied: true } },
      ),
    )
    // What an event holds is plain data.
    .map((event): StreamEvent => ({
      type: 'tool_progress',
      id: 'a',
      name: 'help',
      inner: 'event',
      data: event as unknown as JsonValue,
    })),
)

const anyEvent = fc.oneof({ arbitrary: streamEvent, weight: 3 }, agentEvent)

test('whatever the events are, no reader refuses the chunks that are made of them', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { maxLength: 30 }), async (events) => {
      for (const version of [5, 6] as const) {
        const stream = toUiMessageStream(from(events), { version })
        const { errors } = await readBy(version, stream)
        expect(errors.filter((error) => !legalErrors.test(error))).toEqual([])
      }
      const agent = new HttpAgent({
        url: 'http://localhost/',
        fetch: async () => toAgUiResponse(from(events), { threadId: 't', runId: 'r' }),
      })
      let failure: string | undefined
      await agent
        .runAgent({}, { onRunFailed: ({ error }) => void (failure = error.message) })
        .catch(() => undefined)
      expect(failure === undefined || legalErrors.test(failure) ? '' : failure).toBe('')
    }),
    { numRuns: 40 },
  )
  warned.mockRestore()
})

/** Mostly a value of a kind, and sometimes anything. */
const mostly = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: value, weight: 30 }, { arbitrary: json, weight: 1 })

const pagePart = fc.oneof(
  fc.record({ type: fc.constant('text'), text: mostly(text) }),
  fc.record({
    type: fc.constant('file'),
    mediaType: mostly(fc.constant('image/png')),
    url: mostly(fc.constantFrom('data:image/png;base64,iVBORw0KGgo=', 'http://10.0.0.1/x')),
  }),
  fc.record({ type: fc.constantFrom('step-start', 'data-restart', 'reasoning', 'source-url') }),
  fc.record({
    type: fc.constantFrom('tool-pay', 'dynamic-tool'),
    toolName: mostly(text),
    toolCallId: mostly(fc.constantFrom('c2', 'c3')),
    state: fc.constantFrom('output-available', 'output-error', 'approval-responded', 'x'),
    input: json,
    output: fc.oneof(json, fc.record({ approved: fc.boolean() })),
    approval: fc.record({ id: text, approved: mostly(fc.boolean()) }),
  }),
)

/** Something like a message of a page. */
const pageMessage = mostly(
  fc.record({
    id: mostly(text),
    role: mostly(fc.constantFrom('user', 'assistant', 'assistant', 'system')),
    parts: mostly(fc.array(mostly(pagePart), { maxLength: 4 })),
  }),
)

test('whatever a page sends is taken or refused with an error that says why, and what is taken is legal', async () => {
  const { session } = await Session.start(
    serviceEngine(async () => 'seen'),
    'pay',
  )
  const accept = ['system', 'tools', 'image_url', 'file_url'] as const
  let count = 0
  fc.assert(
    fc.property(fc.array(pageMessage, { maxLength: 4 }), (sent) => {
      // It comes from outside, so no type says what it is.
      const messages = sent as unknown as UIMessage[]
      const taken = <T>(read: () => T): T | undefined => {
        try {
          return read()
        } catch (error) {
          // Invented tickets are not open.
          if (!(error instanceof SessionError)) expect(error).toBeInstanceOf(ValidationError)
          else expect(error.reason).toBe('stale_ticket')
          return undefined
        }
      }
      for (const options of [{}, { accept }]) {
        const thread = taken(() => fromUiMessages(messages, options)) ?? []
        expect(thread.flatMap((message) => validateMessage(message))).toEqual([])
        count += thread.length
      }
      taken(() => uiApprovals(messages))
      for (const command of taken(() => uiCommands(messages, session)) ?? []) {
        count++
        expect(['send', 'approve', 'deny']).toContain(command.type)
        if (command.type !== 'send')
          expect('toolCallId' in command && command.toolCallId).toBe('c2')
      }
    }),
    { numRuns: 1500 },
  )
  expect(count).toBeGreaterThan(1000)
})

/** The parts that a page shows: without what was written again, which 5 and 6 can only mark. */
function visibleParts(parts: readonly Part[]): readonly Part[] {
  const visible: Part[] = []
  for (const part of parts) {
    if (part['type'] === 'data-restart') {
      while (visible.length > 0 && visible.pop()?.['type'] !== 'step-start');
    }
    visible.push(part)
  }
  return visible
}

type Part = ReadMessage['parts'][number]

function visibleText(parts: readonly Part[]): string {
  const texts = visibleParts(parts).filter(({ type }) => type === 'text')
  return texts.map(({ text }) => String(text)).join('')
}

/** The calls that a page shows, and how far they are. */
function visibleCalls(parts: readonly Part[], among: readonly Part[] = parts): readonly string[] {
  const ids = new Set(among.map(({ toolCallId }) => toolCallId ?? ''))
  const calls = visibleParts(parts).filter(({ toolCallId }) => toolCallId && ids.has(toolCallId))
  return calls.map(({ toolCallId, state }) => `${String(toolCallId)} ${String(state)}`).toSorted()
}

/** The text of the last answer of a session. */
function answerText(session: Session): string {
  return (turnsOf(session).at(-1)?.answers ?? []).map(messageText).join('')
}

/** What the metadata of a message says about its last answer. */
function answerFacts(metadata: unknown): object {
  const { agent, finishReason } = (metadata ?? {}) as UiAnswerMetadata
  return { agent, finishReason: finishReason ?? undefined }
}

/** Plays a plan for a page that stays, and for one that comes back at some event of each run. */
async function check(chosen: Plan): Promise<number> {
  const engine = engineOf(chosen)
  const lives = [...chosen.lives]
  let runs = 0
  let seen = 0
  let session = Session.create({ id: 's', messages: 'go' })
  /** The messages of the assistant after the user's last words in the session. */
  let page: (ReadMessage | undefined)[] = []
  let turns = 0
  for (let turn = 0; turn < chosen.choices.length; turn++) {
    const choice = chosen.choices[turn] ?? 0
    const command = turn === 0 ? undefined : commandFor(session, choice)
    const hasFailed = session.status === 'error' || session.status === 'halted'
    const stopping = new AbortController()
    let stream: SessionStream = Session.streamNext(engine, session, command, {
      signal: stopping.signal,
    })
    const start = stream.session
    const isTurn = turnsOf(start).length > turns
    // Words that answer a question of an earlier answer are in no message of the session, and nobody has said that a question expired.
    if (isTurn) page = [undefined]
    else if (command?.type === 'send' && command.by !== expiry) page.push(undefined)
    const events: StreamEvent[] = []
    /** The session after each event. */
    const sessions: Session[] = []
    /** A run that is over before its first event has dropped the partial answer of a process that died, and no event says so. */
    let isDropped = false
    for (;;) {
      let left = lives.shift() ?? Number.POSITIVE_INFINITY
      let died = false
      let count = 0
      for await (const event of untilEnd(stream)) {
        seen++
        isDropped = count++ === 0 && event.type === 'error'
        events.push(event)
        sessions.push(stream.session)
        if (seen === chosen.stop) stopping.abort()
        if (left-- <= 0 && stream.session.status === 'idle') {
          died = true
          break
        }
      }
      session = Session.parse(Session.stringify(stream.session))
      if (!died) break
      stream = Session.streamNext(engine, session, undefined, { signal: stopping.signal })
    }
    runs++
    // Also those that began in the run: a picture that came with the answer to a question is a message of its own behind the results.
    turns = turnsOf(session).length
    expect(events.filter(isEnd)).toHaveLength(1)
    // A page that goes on with an answer after a failure or a stop drops what it had of it, and comes back.
    const isAgain = hasFailed && !isTurn
    const stayed = isAgain ? await read(events, undefined, start) : await read(events, page.at(-1))
    page = isAgain ? [stayed] : [...page.slice(0, -1), stayed]
    const cut = choice % events.length
    const at = sessions[cut]
    const isCut = at?.status === 'idle' && cut < events.length - 1
    const back = isCut ? [await read(events.slice(cut + 1), undefined, at)] : page
    if (!isDropped) {
      for (const messages of [page, back]) {
        const texts = messages.map((message) => visibleText(message?.parts ?? []))
        expect(texts.join('')).toBe(answerText(session))
      }
    }
    const saved = toUiMessages(session).at(-1)
    if (saved?.role === 'assistant') {
      // They are parts as the reader makes them.
      const parts = saved.parts as unknown as ReadMessage['parts']
      expect(visibleText(parts)).toBe(answerText(session))
      // A page that has other turns in its messages is told of them together.
      if (!isDropped && back.length === 1) {
        expect(answerFacts(back[0]?.metadata)).toEqual(answerFacts(saved.metadata))
      }
      // A late result is also told where it came.
      const told = visibleCalls(back[0]?.parts ?? [], parts)
      // A stream cannot tell a page that has not seen the request of an approval that it was denied. The call has failed there.
      const shown = visibleCalls(parts).map((call) => call.replace('output-denied', 'output-error'))
      if (isCut && !isDropped) {
        expect(told.map((call) => call.replace('output-denied', 'output-error'))).toEqual(shown)
      }
    }
    if (session.status === 'completed' && turn > 3) break
  }
  return runs
}

async function read(
  events: readonly StreamEvent[],
  before: ReadMessage | undefined,
  session?: Session,
): Promise<ReadMessage | undefined> {
  // The parts are those that the reader made.
  const message = before && ({ ...before, role: 'assistant' } as unknown as UIMessage)
  const stream = toUiMessageStream(from(events), {
    ...(message && { originalMessages: [message] }),
    past: session && uiPast(session),
  })
  const { errors, message: next } = await readBy(6, stream, message)
  expect(errors.filter((error) => !legalErrors.test(error))).toEqual([])
  return next ?? before
}

test('a page that follows runs, and one that comes back at any event, show the text of the session', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(plan, async (chosen) => {
      runs += await check(chosen)
    }),
    { numRuns: 30 },
  )
  expect(runs).toBeGreaterThan(100)
})

const quiet = { failing: [], ends: [], name: undefined, lives: [], stop: undefined }

test('a picture in the answer to a question begins a turn behind the results, and what follows a rest belongs to it', async () => {
  await check({
    ...quiet,
    answers: [
      [{ name: 'book' }, { name: 'ask' }],
      [{ name: 'hand' }, { text: 'Hello' }],
    ],
    choices: [0, 0, 21, 0, 0, 0, 0, 0],
  })
})

test('a text before a result that the page gives stays, in the page as in its session', async () => {
  const engine = engineOf({
    ...quiet,
    answers: [
      [{ name: 'book' }, { name: 'ask' }],
      [{ name: 'hand' }, { text: 'Hello' }],
    ],
    choices: [],
  })
  const picture = imagePart(imageFromBase64('aGk=', 'image/png'))
  const run = async (from: Session, command?: SessionCommand, page?: ReadMessage) => {
    const stream = Session.streamNext(engine, from, command)
    const events: StreamEvent[] = []
    for await (const event of stream) events.push(event)
    return { session: stream.session, page: await read(events, page) }
  }
  const asked = await run(Session.create({ id: 's', messages: 'go' }))
  const sure = await run(asked.session, { type: 'send', content: 'yes' })
  const seen = await run(sure.session, { type: 'send', content: [textPart('see'), picture] })
  expect(visibleText(seen.page?.parts ?? [])).toBe('Hello')
  const [call] = seen.session.pendingToolCalls
  const given = { type: 'submitToolResult', toolCallId: call?.id ?? '', content: 'ok' } as const
  const done = await run(seen.session, given, seen.page)
  expect(visibleText(done.page?.parts ?? [])).toBe('Hellodone 2')
  const saved = toUiMessages(done.session).at(-1)
  // They are parts as the reader makes them.
  expect(visibleText((saved?.parts ?? []) as unknown as ReadMessage['parts'])).toBe('Hellodone 2')
})

test('a late answer to a question after a failure goes on with the answer that failed', async () => {
  await check({
    ...quiet,
    answers: [[{ name: 'ask' }, { name: 'run' }], []],
    failing: [false, true],
    choices: [0, 0, 0, 0, 0, 0, 0, 0],
    stop: 9,
  })
})
