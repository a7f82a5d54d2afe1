import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  askUser,
  compactMessages,
  createEngine,
  fail,
  handoff,
  Session,
  tool,
  type Message,
  type Tool,
} from '../../../src/index.ts'
import { fake, type ScriptInput } from '../../../src/testing.ts'
import { messageMarks } from '../../support/message-marks.ts'

const named = (name: string, handler: Tool['handler'], extra: Partial<Tool> = {}): Tool => ({
  ...tool({ name, description: name, schema: { type: 'object' }, handler }),
  ...extra,
})

const tools = [
  named('ask', () => askUser('Which?')),
  named('book', (_args, { answer }) => answer ?? askUser('Which seat?', { resume: true })),
  named('broken', () => fail('no luck')),
  named('pay', () => 1, { needsApproval: true }),
  named('hand', undefined, { manual: true }),
  named('slow', () => 1),
]

const call = (id: string, name: string): ['tool_call', { id: string; name: string }] => [
  'tool_call',
  { id, name },
]

/** An engine whose requests are kept. */
const engineOf = (...scripts: ScriptInput[]) => {
  const adapter = fake({ scripts })
  return { adapter, engine: createEngine({ adapter, tools }) }
}

test('every mark that the library sets on a message is listed, and every listed mark is set', async () => {
  const found = new Set<string>()
  const look = (messages: readonly Message[]): void => {
    for (const message of messages) {
      for (const key of Object.keys(message.metadata ?? {})) found.add(key)
    }
  }
  const saw = (session: Session): Session => {
    look(session.thread.messages)
    return session
  }

  // A question and its answer, a failure, a denial, other arguments, a result that comes later.
  const waits = engineOf(
    [
      call('c1', 'ask'),
      call('c2', 'broken'),
      call('c3', 'pay'),
      call('c4', 'pay'),
      call('c5', 'hand'),
    ],
    ['Wait.'],
    ['Done.'],
  )
  let session = saw((await Session.start(waits.engine, 'go')).session)
  session = saw((await Session.reply(waits.engine, session, 'this one')).session)
  session = saw(Session.approve(session, 'c3', { arguments: { euros: 1 } }))
  session = saw(Session.deny(session, 'c4', 'no'))
  session = saw((await Session.reply(waits.engine, session, 'meanwhile')).session)
  session = saw(Session.submitToolResult(session, 'c5', 1))
  saw((await Session.resume(waits.engine, session)).session)

  // A question whose handler is called again with the answer.
  const books = engineOf([call('c1', 'book')], ['Booked.'])
  session = (await Session.start(books.engine, 'go')).session
  saw((await Session.reply(books.engine, session, '14C')).session)

  // Other arguments, without a message in between.
  const pays = engineOf([call('c1', 'pay')], ['Paid.'])
  session = (await Session.start(pays.engine, 'go')).session
  session = Session.approve(session, 'c1', { arguments: { euros: 1 } })
  saw((await Session.resume(pays.engine, session)).session)

  // A run that was cut in a tool, and in an answer.
  const cut = engineOf([call('c1', 'slow')])
  const inTool = Session.streamStart(cut.engine, 'go')
  for await (const event of inTool) if (event.type === 'tool_execution_started') break
  saw((await Session.resume(engineOf(['Done.']).engine, inTool.session)).session)
  const inAnswer = Session.streamStart(engineOf(['Half an answer.']).engine, 'go')
  for await (const event of inAnswer) if (event.type === 'text_delta') break
  saw(inAnswer.session)

  // Structured answers: a repair, and a second pass.
  const City = z.object({ city: z.string() })
  const wrong = engineOf(['no JSON'], ['{"city":"Ghent"}'])
  saw((await Session.start(wrong.engine, 'go', { responseFormat: City, repair: 1 })).session)
  const passes = engineOf(['Ghent.'], ['{"city":"Ghent"}'])
  const finalize = { responseFormat: City, structuredFinalize: true }
  saw((await Session.start(passes.engine, 'go', finalize)).session)

  // A turn that the provider paused.
  const paused = engineOf(
    [['ok', { outputText: 'One ', finishReason: 'other', metadata: { paused: true } }]],
    ['two.'],
  )
  saw((await Session.start(paused.engine, 'go')).session)

  // Messages that were left out of a request.
  const long = engineOf(['a'], ['b'], ['c'])
  const prepareStep = compactMessages({ budget: 4, keepLast: 1 })
  session = (await Session.start(long.engine, 'first')).session
  session = (await Session.reply(long.engine, session, 'second')).session
  saw((await Session.reply(long.engine, session, 'third', { prepareStep })).session)
  for (const { request } of long.adapter.calls) look(request.messages)

  // Another engine that goes on.
  const next = engineOf(['I go on.']).engine
  const handing = createEngine({
    adapter: fake({ script: [call('c1', 'handoff')] }),
    tools: [handoff(next)],
  })
  saw((await Session.start(handing, 'go')).session)

  const timed = Session.streamNext(engineOf(['ok']).engine, Session.create(), {
    type: 'send',
    content: 'now',
    at: 1000,
  })
  look(timed.session.thread.messages)

  expect(found).toEqual(new Set(messageMarks))
})
