// What the cases share: a tool, and a model that calls it.
import { tool, user } from 'allm-ts'

export const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  idempotent: true,
  handler: async ({ city }) => ({ city, celsius: 21 }),
})

export const question = [user('How warm is Ghent?')]

export const call = (name, args = {}) => [
  'tool_call',
  { id: `call_${name}`, name, arguments: args },
]

export const rounds = [
  [call('weather', { city: 'Ghent' })],
  [
    ['text', 'It is '],
    ['text', '21 degrees.'],
  ],
]
