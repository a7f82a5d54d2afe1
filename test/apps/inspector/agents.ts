import { askUser, createEngine, tool, type Engine, type Tool } from '../../../src/index.ts'
import { fake, type ScriptInput, type VirtualClock } from '../../../src/testing.ts'

/** A run with two tools side by side, an approval, a manual tool, a question and three turns of the user. */
const scripts: readonly ScriptInput[] = [
  [
    ['start', { model: 'small-1', id: 'answer-1' }],
    'let me ',
    ['text', 'see'],
    ['tool_call', { id: 'call-1', name: 'add', arguments: { a: 1, b: 2 } }],
    ['tool_call', { id: 'call-2', name: 'look', arguments: { at: 'moon' } }],
    ['usage', { inputTokens: 10, outputTokens: 5 }],
  ],
  [
    ['start', { model: 'small-1' }],
    ['tool_call', { id: 'call-3', name: 'refund', arguments: { euros: 5 } }],
  ],
  [['start', { model: 'small-1' }], 'paid, and ', ['reasoning', 'hm'], ['text', 'done']],
  [
    ['start', { model: 'small-1' }],
    ['tool_call', { id: 'call-4', name: 'seat', arguments: {} }],
    ['tool_call', { id: 'call-5', name: 'office', arguments: { form: 7 } }],
  ],
  [['start', { model: 'small-1' }], 'your seat is 12A'],
]

export const effects: string[] = []

export const tools: readonly Tool[] = [
  tool({
    name: 'add',
    description: 'Adds.',
    schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
    handler: (args) => {
      effects.push('add')
      return Number(args['a']) + Number(args['b'])
    },
  }),
  tool({
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    handler: () => {
      effects.push('look')
      throw new Error('it is cloudy')
    },
  }),
  tool({
    name: 'refund',
    description: 'Pays back.',
    schema: { type: 'object' },
    needsApproval: true,
    handler: () => {
      effects.push('refund')
      return { paid: true }
    },
  }),
  tool({
    name: 'seat',
    description: 'Asks for a seat.',
    schema: { type: 'object' },
    handler: () => {
      effects.push('seat')
      return askUser('Which seat?', { choices: ['12A', '14C'] })
    },
  }),
  tool({ name: 'office', description: 'Forms.', schema: { type: 'object' }, manual: true }),
]

export function agent(clock: VirtualClock, own: readonly ScriptInput[] = scripts): Engine {
  return createEngine({
    adapter: fake({ scripts: own }),
    model: 'small-1',
    instructions: 'Be brief.',
    tools,
    clock,
    retry: false,
  })
}
