import { expect, test } from 'vitest'
import { askUser, createEngine, Session, tool, user, type Engine } from '../../src/index.ts'
import { fake } from '../../src/testing.ts'

const ask = tool({
  name: 'ask',
  description: 'asks',
  schema: { type: 'object' },
  handler: (_args, { toolCall }) => askUser(`about ${toolCall.id}?`),
})
const engine = (): Engine =>
  createEngine({
    adapter: fake({
      script: [
        ['tool_call', { id: 'c1', name: 'ask', arguments: {} }],
        ['tool_call', { id: 'c2', name: 'ask', arguments: {} }],
        ['tool_call', { id: 'c3', name: 'ask', arguments: {} }],
      ],
    }),
    tools: [ask],
  })

test('a question that waits behind another one is in the session before the first event of a reply', async () => {
  const { session } = await Session.start(engine(), [user('go')])
  const stream = Session.streamReply(engine(), session, 'one')
  const saved = Session.parse(Session.stringify(stream.session))
  expect(saved).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'about c2?' })
  const last = await Session.reply(engine(), saved, 'two')
  expect(last.session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'about c3?' })
})

test('the reducer of such a reply keeps the questions that wait', async () => {
  const { session } = await Session.start(engine(), [user('go')])
  const stream = Session.streamReply(engine(), session, 'one')
  let reducer = Session.reduce(stream.session)
  for await (const event of stream) reducer = Session.applyEvent(reducer, event)
  expect(Session.finalize(reducer).session).toEqual(stream.session)
  expect(stream.session.moreQuestions).toMatchObject([{ toolCallId: 'c3' }])
})
