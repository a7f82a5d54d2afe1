// Prints the text as it arrives, and folds the same events into the response.
import {
  applyEvent,
  createCollector,
  createEngine,
  streamGenerate,
  toResponse,
  user,
} from 'allm-ts'
import { choose } from './choose.ts'

const engine = createEngine(
  choose([
    [
      ['text', 'One, '],
      ['text', 'two, '],
      ['text', 'three.'],
    ],
  ]),
)

let state = createCollector()
for await (const event of streamGenerate(engine, [user('Count to three.')])) {
  state = applyEvent(state, event)
  if (event.type === 'text_delta') console.log(`+ ${event.delta}`)
}
console.log(toResponse(state).outputText)
// => + One,
// => + two,
// => + three.
// => One, two, three.
