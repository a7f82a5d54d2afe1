// A support agent: it looks things up, asks the customer, needs approval for money, leaves work to the back office, and files a ticket.
import { askUser, fail, generate, tool, user, type Engine, type Session, type Tool } from 'allm-ts'
import { z } from 'zod'

/** The orders of the shop. A real agent would ask a database in its `context`. */
const orders = new Map([
  [7, { item: 'lamp', euros: 40, seats: undefined }],
  [8, { item: 'train ticket', euros: 90, seats: ['12A', '14C'] }],
])

const lookUp = tool({
  name: 'look_up_order',
  description: 'Look up an order by its number.',
  schema: z.object({ order: z.number() }),
  idempotent: true,
  handler: ({ order }) => orders.get(order) ?? fail(`there is no order ${order}`),
})

const chooseSeat = tool({
  name: 'choose_seat',
  description: 'Let the customer choose a seat, and book it.',
  schema: z.object({ order: z.number() }),
  handler: ({ order }, { answer, idempotencyKey }) => {
    const choices = orders.get(order)?.seats
    if (choices === undefined) return fail('this order has no seats')
    if (answer === undefined) return askUser('Which seat?', { choices, resume: true })
    return { booked: answer, key: idempotencyKey }
  },
})

const refund = tool({
  name: 'refund',
  description: 'Refund an order, in euros. More than 20 euros need approval.',
  schema: z.object({ order: z.number(), euros: z.number().positive() }),
  needsApproval: ({ euros }) => euros > 20,
  handler: ({ order, euros }) => ({ order, refunded: euros }),
})

const inspect = tool({
  name: 'inspect_parcel',
  description: 'Have a returned parcel inspected by the back office. It takes hours.',
  schema: z.object({ order: z.number() }),
  manual: true,
})

/** The tools of the agent. */
export const supportTools: readonly Tool[] = [lookUp, chooseSeat, refund, inspect]

/** What is filed about a conversation. */
export const Ticket = z.object({
  subject: z.string(),
  orders: z.array(z.number()),
  refundedEuros: z.number(),
  resolved: z.boolean(),
})

/**
 * Sums a conversation up as a ticket. The session does not change. A model that gives something else is told what is wrong, once.
 * The tools are declared, because the messages have calls of them, but none may be called.
 */
export async function summarize(
  engine: Engine,
  { thread }: Session,
): Promise<z.infer<typeof Ticket>> {
  const messages = [...thread.messages, user('Sum this conversation up as a ticket.')]
  const { output } = await generate(engine, messages, {
    toolChoice: 'none',
    responseFormat: Ticket,
    repair: 1,
  })
  return output
}
