import { spoken } from './demo-adapter.ts'
import type { Script } from '../testing/script.ts'

/** What the user says in the tour, and what the model is told. */
export const tourWords = {
  first: 'In one sentence: why would one stop, save and resume an LLM run?',
  system:
    'You plan a picnic. First call weather and free_hours together, in one turn. Then call ask_person once to ask at which of the free hours it shall start. Then describe the plan in about 40 words of plain text.',
  plan: 'Plan a picnic in Ghent on Saturday.',
} as const

/** What the fake answers to the first question. */
export const firstAnswer: Script = spoken(
  'Because tabs close, processes die and people go home, and nobody wants to pay for the same words twice.',
  300,
  30,
)

/** What the fake does to plan the picnic: two tools at once, then a question. */
export const planning: readonly Script[] = [
  [
    ['delay', 350],
    ['tool_call', { id: 'call-1', name: 'weather', arguments: { city: 'Ghent', day: 'Saturday' } }],
    ['tool_call', { id: 'call-2', name: 'free_hours', arguments: { day: 'Saturday' } }],
    ['finish', 'tool_calls'],
  ],
  [
    ['delay', 300],
    [
      'tool_call',
      {
        id: 'call-3',
        name: 'ask_person',
        arguments: { question: 'When shall it start?', choices: ['12:00', '13:00'] },
      },
    ],
    ['finish', 'tool_calls'],
  ],
]

/** The plan, as the fake tells it. */
export function plan(start: string): Script {
  return spoken(
    `We meet at ${start} in the Citadelpark. It will be sunny, 21 degrees, so bring a blanket, lemonade and something to read in the shade.`,
    300,
    30,
  )
}
