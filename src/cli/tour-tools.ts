import { askPerson } from './chat-tools.ts'
import type { Tool } from '../contracts/tool.ts'
import type { Clock } from '../core/clock.ts'
import { tool } from '../make/tools.ts'

/** The tools of the tour. They take a moment by the clock, so that one can see them run side by side. */
export function tourTools(clock: Clock): readonly Tool[] {
  return [
    tool({
      name: 'weather',
      description: 'The weather of a city on a day.',
      schema: {
        type: 'object',
        properties: { city: { type: 'string' }, day: { type: 'string' } },
        required: ['city', 'day'],
        additionalProperties: false,
      },
      idempotent: true,
      handler: async (_args, { signal }) => {
        await clock.sleep(400, signal)
        return { sky: 'sunny', celsius: 21 }
      },
    }),
    tool({
      name: 'free_hours',
      description: 'The hours of a day at which everybody is free.',
      schema: {
        type: 'object',
        properties: { day: { type: 'string' } },
        required: ['day'],
        additionalProperties: false,
      },
      idempotent: true,
      handler: async (_args, { signal }) => {
        await clock.sleep(250, signal)
        return ['12:00', '13:00']
      },
    }),
    askPerson,
  ]
}
