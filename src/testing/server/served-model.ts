import { isAllmError } from '../../core/errors/errors.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ImageOperation } from '../../core/types/media.ts'
import type { RequestProblem } from './check-params.ts'
import { planFailure, type PlanFailure } from './plan.ts'
import type { WireAnswer } from './wire-format.ts'

/** One kind of model that is not chat: it checks requests as the provider does, and answers from its script. */
export interface ServedModel {
  check(route: ModelRoute, body: JsonObject): RequestProblem | undefined
  answer(route: ModelRoute, call: ModelCallFacts): Promise<WireAnswer>
}

/** The kinds of models that are not chat, by the option of the server that has their script. */
export type ServedKind =
  | 'images'
  | 'moderation'
  | 'embeddings'
  | 'rerank'
  | 'speech'
  | 'transcriptions'

/** A path of a model that is not chat. */
export interface ModelRoute {
  readonly type: 'model'
  readonly provider: 'openai' | 'gemini'
  readonly kind: ServedKind
  /** Images are made, edited or varied. */
  readonly operation?: ImageOperation
  /** Gemini has the model in the path. */
  readonly model?: string
  /** Gemini: the call has one text, and the answer one vector. */
  readonly isSingle?: boolean
}

/** What is known of a call when it is answered. */
export interface ModelCallFacts {
  readonly model: string
  readonly requestId: string
  readonly body: JsonObject
  /** The body as it was sent, for those that need the files of a form. */
  readonly sent?: { readonly bytes: Uint8Array; readonly contentType: string }
}

/** What a fake answered, or how the provider says that it failed. */
export async function outcomeOf<Answer>(
  answer: Promise<Answer>,
): Promise<{ readonly answer: Answer } | { readonly failure: PlanFailure }> {
  try {
    return { answer: await answer }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { reason, message, metadata, ...facts } = error.toJSON()
    if (metadata?.['cause'] === 'no_scripted_image') {
      return { failure: { reason: 'no_scripted_response', message } }
    }
    const known = reason === 'unsupported_operation' ? 'invalid_request' : reason
    const failure = planFailure({ ...facts, reason: known, message })
    const location = metadata?.['location']
    return { failure: typeof location === 'string' ? { ...failure, location } : failure }
  }
}
