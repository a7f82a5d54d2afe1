// The service around the agent: shops that share it, customers who talk to it, staff who decide. Everything else is in `allm-ts/runs`.
import { createEngine, type ChatAdapter, type Engine } from 'allm-ts'
import { createRuns, type Authorized, type Runs, type RunsHandler } from 'allm-ts/runs'
import type { RunStore } from 'allm-ts/stores'
import { summarize, supportTools, type Shop } from './tools.ts'

/** Who somebody is. A real service knows it from a sign-in. */
export interface Person {
  /** Without a dot, because the first one of an id ends its tenant. */
  readonly tenant: string
  readonly name: string
  readonly isStaff: boolean
}

/** What a support service needs. */
export interface SupportOptions {
  readonly adapter: ChatAdapter
  readonly model?: string
  readonly store: RunStore
  /** The shops, by tenant. */
  readonly shops: Readonly<Record<string, Shop>>
  /** Who makes a request, or `undefined` for a stranger. */
  readonly whoIs: (request: Request) => Person | undefined
}

/**
 * A support desk for several shops. The id of a conversation is `tenant.customer`. Customers talk, stop and resume in their own; staff sees
 * all of its shop, approves, answers for the back office, and gets a ticket from `GET :id/ticket`.
 */
export function supportService(options: SupportOptions): { runs: Runs; handle: RunsHandler } {
  const { adapter, model, store, shops, whoIs } = options
  // Any process that goes on with a run makes the same engine from its id.
  const engineOf = ({ id }: { id: string }): Engine => {
    const tenant = id.slice(0, id.indexOf('.'))
    const shop = shops[tenant]
    if (shop === undefined) throw new Error(`there is no shop ${tenant}`)
    const instructions = `You work for the support of ${tenant}. Be brief.`
    return createEngine({ adapter, model, tools: supportTools, instructions, context: { shop } })
  }
  const runs = createRuns({ engine: engineOf, store })

  /** Lets staff into all conversations of its shop, and customers into their own, if it is not for staff. */
  const allow = (request: Request, id: string, isForStaff: boolean): Authorized | Response => {
    const person = whoIs(request)
    if (person === undefined) return refuse(401, 'unknown_user', 'sign in first')
    const { tenant, name, isStaff } = person
    const isOwn = isStaff ? id.startsWith(`${tenant}.`) : id === `${tenant}.${name}`
    if (isOwn && (isStaff || !isForStaff)) return { metadata: { tenant }, by: name }
    return refuse(403, 'forbidden', 'this is not yours to see or to decide')
  }
  const chat = runs.handler({
    authorize: (request, id, { action }) =>
      allow(request, id, action === 'approvals' || action === 'tools'),
  })

  const handle: RunsHandler = async (request) => {
    const [, id] = /([^/]+)\/ticket$/.exec(new URL(request.url).pathname) ?? []
    if (id === undefined) return chat(request)
    const allowed = allow(request, id, true)
    if (allowed instanceof Response) return allowed
    const { session } = (await runs.get(id)) ?? {}
    if (session === undefined)
      return refuse(404, 'unknown_session', 'there is no such conversation')
    return Response.json(await summarize(engineOf(session), session))
  }
  return { runs, handle }
}

function refuse(status: number, reason: string, message: string): Response {
  return Response.json({ reason, message }, { status })
}
