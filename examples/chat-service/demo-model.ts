import { messageText, type Message } from 'allm-ts'
import type { ScriptFunction, ScriptInput } from 'allm-ts/testing'

/** Plays the model where there is none: it answers by what was said or done last, so any process gives the same answers. */
export const demoModel: ScriptFunction = ({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return afterTool(messages, last)
  const words = last === undefined ? '' : messageText(last).toLowerCase()
  if (/train|ticket|trip|travel/.test(words)) {
    const city = /\bto ([a-z]+)/.exec(words)?.[1] ?? 'ghent'
    const capital = city.charAt(0).toUpperCase() + city.slice(1)
    return [
      ...spoken(`I will look for trains to ${capital}.`),
      ['tool_call', { id: 'search', name: 'search_trains', arguments: { city: capital } }],
    ]
  }
  if (/story|long/.test(words)) return spoken(story)
  if (/fail|error/.test(words)) {
    return [...spoken('I am about to'), ['error', 'provider_unavailable']]
  }
  return spoken(
    'Hello! I sell train tickets. Tell me where you want to go, or ask me for a long story and stop me in the middle.',
  )
}

function afterTool(messages: readonly Message[], result: Message): ScriptInput {
  const calls = messages.findLast(({ toolCalls = [] }) => toolCalls.length > 0)?.toolCalls ?? []
  const { name } = calls.find(({ id }) => id === result.toolCallId) ?? {}
  if (name === 'search_trains') {
    return [
      ...spoken(
        'The CE 104 leaves at 10:04 and costs €24. The NL 7 at 11:30 is €19, but it is full.',
      ),
      ['tool_call', { id: 'seat', name: 'choose_seat', arguments: { train: 'CE 104' } }],
    ]
  }
  if (name === 'choose_seat') {
    // The result of a call that asked is the question and the answer.
    const { answer: seat } = JSON.parse(messageText(result)) as { answer: string }
    const booking = { train: 'CE 104', seat, euros: 24 }
    return [
      ...spoken('Good choice. Shall I book it?'),
      ['tool_call', { id: 'book', name: 'book_ticket', arguments: booking }],
    ]
  }
  return spoken(
    result.metadata?.['denied'] === true
      ? 'All right, I did not book anything. Shall I look for another train?'
      : 'It is booked. Your ticket is on its way to you. Have a good trip!',
  )
}

/** A text as a model says it: word by word. */
function spoken(text: string): ScriptInput {
  return text.split(/(?<= )/).flatMap((word) => [
    ['delay', 35],
    ['text', word],
  ])
}

const story = `Once there was a small train that was never in time. It left when the last passenger had found a seat, and it stopped wherever somebody waved.

The other trains laughed at it. They had timetables, and they kept them to the second, whether anybody was on board or not. But on a night in winter the snow came down so thick that no timetable was worth its paper, and one after the other they stood still between two stations, in the dark, exactly in time for nothing.

Only the small train went on, a little at a time, as it always had. At every place where somebody waved with a lamp it stopped, and took them along, and remembered who had to get off where. When the line was blocked it waited, and forgot nothing. When the line was free it went on from where it was.

In the morning it rolled into the city, with everybody on board. Nobody asked how late it was.`
