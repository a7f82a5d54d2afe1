// What the support agent can do: track a parcel (slow), refund money (a colleague approves), have a parcel inspected (the back office answers).
import { generate, tool, user, type Engine, type HandlerOptions, type Session } from 'allm-ts'
import { z } from 'zod'

/** The shop behind the tools. A real one has a database and the programs of its carriers. */
export interface Shop {
  readonly carriers: readonly string[]
  track(order: number, carrier: string, signal: AbortSignal): Promise<string | undefined>
  /** Pays once for each key, however often it is asked. */
  refund(order: number, euros: number, key: string): Promise<void>
}

type Needs = HandlerOptions<{ shop: Shop }>

const trackParcel = tool({
  name: 'track_parcel',
  description: 'Find out where the parcel of an order is. Asks all carriers, which takes a while.',
  schema: z.object({ order: z.number() }),
  idempotent: true,
  timeoutMs: 120_000,
  handler: async ({ order }, { context: { shop }, progress, signal }: Needs) => {
    for (const [index, carrier] of shop.carriers.entries()) {
      await progress({ text: `asking ${carrier}`, done: index, of: shop.carriers.length })
      const place = await shop.track(order, carrier, signal)
      if (place !== undefined) return { carrier, place }
    }
    return 'no carrier knows it'
  },
})

const refund = tool({
  name: 'refund',
  description: 'Refund an order, in euros. More than 20 euros need approval.',
  schema: z.object({ order: z.number(), euros: z.number().positive() }),
  needsApproval: ({ euros }) => euros > 20,
  handler: async ({ order, euros }, { context: { shop }, idempotencyKey }: Needs) => {
    await shop.refund(order, euros, idempotencyKey)
    return { order, refunded: euros }
  },
})

const inspectParcel = tool({
  name: 'inspect_parcel',
  description: 'Have a returned parcel inspected by the back office. It takes hours.',
  schema: z.object({ order: z.number() }),
  manual: true,
})

/** The tools of the agent. */
export const supportTools = [trackParcel, refund, inspectParcel] as const

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
