import { answerChat } from './answer-chat.ts'
import { answerImages } from './answer-images.ts'
import { defaultModels, modelEntry, modelsList } from './models-list.ts'
import { prepareAnswer } from './prepared-answer.ts'
import { jsonAnswer, refuse, refuseAddress, refuseWithoutKey } from './refuse.ts'
import type { Route } from './route.ts'
import type { Decision, Incoming, ServerState } from './server-state.ts'
import { assertNever } from '../types/guards.ts'

/** Decides what a request is answered with. Only a form with files takes time to read. */
export function answerRequest(
  state: ServerState,
  route: Route,
  incoming: Incoming,
): Decision | Promise<Decision> {
  const { key, requestId, method, url } = incoming
  const { provider } = route
  if (route.type === 'unknown') {
    const path = url.replace(/\?.*$/, '')
    const answer = refuseAddress(provider, route.status, `${method} ${path}`, requestId)
    return { answer: prepareAnswer(answer) }
  }
  if (key === undefined && state.options.requireKey !== false)
    return { answer: prepareAnswer(refuseWithoutKey(provider, requestId)) }
  if (incoming.bytes === undefined) {
    const failure = {
      reason: 'invalid_request',
      status: 413,
      message: 'Request too large',
    } as const
    return { answer: prepareAnswer(refuse(provider, failure, requestId)) }
  }
  switch (route.type) {
    case 'chat':
      return answerChat(state, route, incoming)
    case 'images':
      return answerImages(state, route, incoming)
    case 'models':
      return { answer: prepareAnswer(answerModels(state, route, requestId)) }
    default:
      return assertNever(route)
  }
}

function answerModels(
  { options }: ServerState,
  { provider, model }: Extract<Route, { type: 'models' }>,
  requestId: string,
): ReturnType<typeof jsonAnswer> {
  const names = options.models ?? defaultModels[provider]
  if (model === undefined) return jsonAnswer(modelsList(provider, names))
  if (options.models === undefined || names.includes(model))
    return jsonAnswer(modelEntry(provider, model))
  const message =
    provider === 'anthropic' ? `model: ${model}` : `The model '${model}' does not exist`
  return refuse(provider, { reason: 'invalid_request', status: 404, message }, requestId)
}
