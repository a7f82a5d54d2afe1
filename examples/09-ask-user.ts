// A tool that needs a person: the run stops, is saved, and continues when the answer is there.
import { askUser, createEngine, Session, tool, user } from 'allm-ts'
import { z } from 'zod'
import { choose } from './choose.ts'

const chooseSize = tool({
  name: 'choose_size',
  description: 'Ask the customer which of these sizes they want.',
  schema: z.object({ sizes: z.array(z.string()) }),
  handler: ({ sizes }) => askUser('Which size?', { choices: sizes }),
})

const engine = createEngine({
  ...choose([
    [['tool_call', { id: 'c1', name: 'choose_size', arguments: { sizes: ['S', 'M', 'L'] } }]],
    [['text', 'One T-shirt in M, coming up.']],
  ]),
  tools: [chooseSize],
})

const { session } = await Session.start(engine, [user('I want a T-shirt. Sizes are S, M and L.')])
console.log(session.status, session.pendingQuestion)

const text = Session.stringify(session)
const { result } = await Session.reply(engine, Session.parse(text), 'M')
console.log(result.outputText)
// => awaiting_user Which size?
// => One T-shirt in M, coming up.
