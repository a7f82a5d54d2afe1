import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerRequest } from './answer-request.ts'
import { apiKeyOf, headersWithoutKeys, pathWithoutKey } from './api-key.ts'
import { prepareAnswer } from './prepared-answer.ts'
import { readBody } from './read-body.ts'
import { refuse } from './refuse.ts'
import type { RecordedRequest, RequestLog } from './request-log.ts'
import { routeOf, type Provider, type Route } from './route.ts'
import { sendAnswer, type SendOptions } from './send-answer.ts'
import type { Decision, Incoming, ServerState } from './server-state.ts'
import { defined } from '../types/guards.ts'

/** Takes requests, records them and answers them. */
export interface RequestHandler {
  handle(request: IncomingMessage, response: ServerResponse): void
  /** The answers that are being written; each is fulfilled when it is over. */
  readonly open: ReadonlySet<Promise<void>>
}

/** Makes the handler of a server. A request is on record before the first byte of its answer is sent. */
export function requestHandler(
  state: ServerState,
  log: RequestLog,
  sending: SendOptions,
): RequestHandler {
  let count = 0
  const open = new Set<Promise<void>>()
  const settle = (incoming: Incoming, decision: Decision, response: ServerResponse): void => {
    log.add(recorded(incoming, decision))
    const sent = sendAnswer(response, decision.answer, sending)
    if (sent === undefined) return
    const over = sent.then(() => {
      open.delete(over)
    })
    open.add(over)
  }
  return {
    open,
    handle(request, response) {
      const number = ++count
      const { method = 'GET', url = '/', headers } = request
      const route = routeOf(method, url, headers)
      const key = apiKeyOf(route.provider, headers, url)
      const requestId = `req_fake_${number}`
      readBody(request, (bytes) => {
        const incoming = { number, method, url, headers, bytes, key, requestId }
        const decision = decide(state, route, incoming)
        if (!(decision instanceof Promise)) {
          settle(incoming, decision, response)
          return
        }
        decision.then(
          (later) => settle(incoming, later, response),
          (error: unknown) => settle(incoming, broken(route.provider, error, requestId), response),
        )
      })
    },
  }
}

function decide(
  state: ServerState,
  route: Route,
  incoming: Incoming,
): Decision | Promise<Decision> {
  try {
    return answerRequest(state, route, incoming)
  } catch (error) {
    return broken(route.provider, error, incoming.requestId)
  }
}

/** A mistake of ours is told to the client, so that a test does not wait for an answer that never comes. */
function broken(provider: Provider, error: unknown, requestId: string): Decision {
  const message = `the fake server failed: ${error instanceof Error ? error.message : String(error)}`
  const failure = { reason: 'no_scripted_response', status: 500, message } as const
  return { answer: prepareAnswer(refuse(provider, failure, requestId)) }
}

function recorded(incoming: Incoming, { answer, body, format }: Decision): RecordedRequest {
  const { number, method, url, headers } = incoming
  return defined<RecordedRequest>({
    number,
    method,
    path: pathWithoutKey(url),
    headers: headersWithoutKeys(headers),
    body,
    format,
    status: answer.status,
  })
}
