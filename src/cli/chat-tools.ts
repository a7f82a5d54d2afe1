import type { Tool } from '../contracts/tool.ts'
import { askUser, fail, tool } from '../make/tools.ts'
import type { JsonValue } from '../types/json.ts'

/** A tool that puts a question to whoever sits at the terminal. */
export const askPerson: Tool = tool({
  name: 'ask_person',
  description:
    'Ask the person a question and wait for the answer. Use it when you need a decision.',
  schema: {
    type: 'object',
    properties: {
      question: { type: 'string' },
      choices: { type: 'array', items: { type: 'string' } },
    },
    required: ['question', 'choices'],
    additionalProperties: false,
  },
  handler: ({ question, choices }) =>
    askUser(wordsOf(question), { choices: Array.isArray(choices) ? choices : [] }),
})

/** The tools that `allm chat` offers to the model. */
export const chatTools: readonly Tool[] = [
  tool({
    name: 'now',
    description: 'The current date and time in a time zone.',
    schema: {
      type: 'object',
      properties: { timeZone: { type: 'string', description: 'such as Europe/Brussels, or UTC' } },
      required: ['timeZone'],
      additionalProperties: false,
    },
    idempotent: true,
    handler: ({ timeZone }) => timeIn(wordsOf(timeZone)),
  }),
  tool({
    name: 'roll_dice',
    description: 'Roll one die with the given number of sides.',
    schema: {
      type: 'object',
      properties: { sides: { type: 'integer', minimum: 2, maximum: 1000 } },
      required: ['sides'],
      additionalProperties: false,
    },
    handler: ({ sides }) => 1 + Math.floor(Math.random() * Number(sides)),
  }),
  askPerson,
]

function wordsOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function timeIn(timeZone: string): unknown {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      dateStyle: 'full',
      timeStyle: 'long',
    }).format()
  } catch {
    return fail(`there is no time zone ${timeZone}`)
  }
}
