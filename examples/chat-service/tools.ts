import { setTimeout as sleep } from 'node:timers/promises'
import { askUser, tool } from 'allm-ts'
import { z } from 'zod'

/** How long the search asks each company, so that there is something to see. */
const paceMs = Number(process.env['CHAT_PACE_MS'] ?? 700)

const searchTrains = tool({
  name: 'search_trains',
  description: 'Search the timetables of all companies for trains to a city.',
  schema: z.object({ city: z.string() }),
  idempotent: true,
  timeoutMs: 3_600_000,
  handler: async ({ city }, { progress, signal }) => {
    const companies = ['Northern Line', 'Coast Express', 'Night Trains']
    for (const [done, company] of companies.entries()) {
      await progress({ text: `Asking ${company}`, done, of: companies.length })
      await sleep(paceMs, undefined, { signal })
    }
    return [
      { train: 'CE 104', to: city, departs: '10:04', euros: 24 },
      { train: 'NL 7', to: city, departs: '11:30', euros: 19 },
    ]
  },
})

const chooseSeat = tool({
  name: 'choose_seat',
  description: 'Let the customer choose a seat.',
  schema: z.object({ train: z.string() }),
  handler: () => askUser('Where would you like to sit?', { choices: ['Window', 'Aisle', 'Table'] }),
})

const bookTicket = tool({
  name: 'book_ticket',
  description: 'Book and pay a ticket. The customer approves it.',
  schema: z.object({ train: z.string(), seat: z.string(), euros: z.number() }),
  needsApproval: true,
  handler: ({ train, seat }, { idempotencyKey }) => {
    return { booked: train, seat, code: idempotencyKey.slice(-6).toUpperCase() }
  },
})

/** The tools of the assistant: a slow one, a question and one that needs approval. */
export const tools = [searchTrains, chooseSeat, bookTicket] as const
