import { applyFault } from './apply-fault.ts'
import { checkRequest, unreadable } from './check-request.ts'
import { imageAnswer } from './image-answers.ts'
import { kindOf, objectOf } from './json-kind.ts'
import { prepareAnswer, type PreparedAnswer } from './prepared-answer.ts'
import { parseJson } from './read-body.ts'
import { refuseByFault, refuseExhausted, refuseRequest } from './refuse.ts'
import type { Route } from './route.ts'
import { nextFault, type Decision, type Incoming, type ServerState } from './server-state.ts'
import type { JsonObject } from '../types/json.ts'

type ChatRoute = Extract<Route, { type: 'chat' }>

/** Answers a call of a chat model: checks it, lets its fault happen, and plays the next script. */
export function answerChat(
  state: ServerState,
  route: ChatRoute,
  incoming: Incoming,
): Decision | Promise<Decision> {
  const { format, provider } = route
  const { requestId } = incoming
  const parsed = parseJson(incoming.bytes ?? Buffer.alloc(0))
  if (kindOf(parsed) !== 'object') {
    const answer = prepareAnswer(refuseRequest(provider, unreadable(format), requestId))
    return parsed === undefined ? { answer, format } : { answer, format, body: parsed }
  }
  const body = objectOf(parsed)
  const problem =
    state.options.validateRequests === false
      ? undefined
      : checkRequest(format, body, incoming.headers)
  const answer =
    problem === undefined
      ? play(state, route, incoming, body)
      : prepareAnswer(refuseRequest(provider, problem, requestId))
  return answer instanceof Promise
    ? answer.then((drawn) => ({ answer: drawn, format, body }))
    : { answer, format, body }
}

function play(
  state: ServerState,
  route: ChatRoute,
  { key, requestId }: Incoming,
  body: JsonObject,
): PreparedAnswer | Promise<PreparedAnswer> {
  const { format, provider, framing } = route
  const fault = nextFault(state)
  const { status } = fault ?? {}
  if (status !== undefined)
    return prepareAnswer(refuseByFault(provider, { ...fault, status }, requestId))
  const model = route.model ?? text(body['model'])
  if (drawsImages(route, body) && state.options.images !== undefined) {
    const drawn = imageAnswer('gemini', state.source.imagesOf(key), { model, requestId })
    return drawn.then((answer) => prepareAnswer(applyFault(answer, fault)))
  }
  const taken = state.source.take(key)
  if (taken === undefined)
    return prepareAnswer(refuseExhausted(provider, state.source.size, requestId))
  const ask = {
    format,
    framing,
    model,
    requestId,
    stream: route.stream ?? body['stream'] === true,
    includeUsage: objectOf(body['stream_options'])['include_usage'] === true,
  }
  return state.answers.answer(taken, ask, fault)
}

function drawsImages({ provider }: ChatRoute, body: JsonObject): boolean {
  if (provider !== 'gemini') return false
  const config = objectOf(body['generationConfig'] ?? body['generation_config'])
  const modalities = config['responseModalities'] ?? config['response_modalities']
  return Array.isArray(modalities) && modalities.includes('IMAGE')
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
