import { applyFault } from './apply-fault.ts'
import { checkImages } from './check-images.ts'
import { imageAnswer } from './image-answers.ts'
import { kindOf, objectOf } from './json-kind.ts'
import { prepareAnswer, type PreparedAnswer } from './prepared-answer.ts'
import { parseForm, parseJson } from './read-body.ts'
import { refuseByFault, refuseRequest } from './refuse.ts'
import type { Route } from './route.ts'
import { nextFault, type Decision, type Incoming, type ServerState } from './server-state.ts'
import type { JsonObject } from '../types/json.ts'

type ImagesRoute = Extract<Route, { type: 'images' }>

/** Answers a call of OpenAI's images endpoints: a JSON body, or a form with files. */
export async function answerImages(
  state: ServerState,
  route: ImagesRoute,
  incoming: Incoming,
): Promise<Decision> {
  const { requestId } = incoming
  const body = await bodyOf(incoming)
  if (body === undefined) {
    const message = 'We could not parse the body of your request.'
    return { answer: prepareAnswer(refuseRequest('openai', { message }, requestId)) }
  }
  const problem =
    state.options.validateRequests === false ? undefined : checkImages(route.operation, body)
  const answer =
    problem === undefined
      ? await play(state, incoming, body)
      : prepareAnswer(refuseRequest('openai', problem, requestId))
  return { answer, body }
}

async function bodyOf({ headers, bytes }: Incoming): Promise<JsonObject | undefined> {
  const contentType = headers['content-type'] ?? ''
  const content = bytes ?? Buffer.alloc(0)
  if (contentType.startsWith('multipart/form-data')) return parseForm(content, contentType)
  const value = parseJson(content)
  return kindOf(value) === 'object' ? objectOf(value) : undefined
}

async function play(
  state: ServerState,
  incoming: Incoming,
  body: JsonObject,
): Promise<PreparedAnswer> {
  const { key, requestId } = incoming
  const fault = nextFault(state)
  const { status } = fault ?? {}
  if (status !== undefined)
    return prepareAnswer(refuseByFault('openai', { ...fault, status }, requestId))
  const { model } = body
  const call = { model: typeof model === 'string' ? model : '', requestId }
  const drawn = await imageAnswer('openai', state.source.imagesOf(key), call)
  return prepareAnswer(applyFault(drawn, fault))
}
