import type { EmbeddingLimits } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import {
  assertValid,
  optionsOf,
  positiveInteger,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import { vectorsProblem } from '../../core/schema/validate-embeddings.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Embedding, EmbeddingRequest, EmbeddingResponse } from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import type { HttpCall } from '../http/call.ts'
import type { JsonAnswer } from '../http/post.ts'
import type { UnsentCall } from './call.ts'
import { responseFields, type AnswerContext, type CallOrigin } from './model-caller.ts'
import { asObject, asUsage } from './read-json.ts'
import { failureParser, judgeFailure, readFailure } from './reported-failure.ts'

const limitChecks = optionsOf({
  maxTexts: positiveInteger,
  maxTokens: positiveInteger,
} satisfies Readonly<Record<keyof EmbeddingLimits, Check>>)

/** The limits of an adapter: those of its options over those of the provider. Invalid ones are a `ValidationError`. */
export function settleLimits(
  limits: Partial<EmbeddingLimits> = {},
  defaults: EmbeddingLimits,
): EmbeddingLimits {
  assertValid('invalid_options', within('limits', limitChecks(limits)))
  return { ...defaults, ...defined<Partial<EmbeddingLimits>>(limits) }
}

/** Throws `invalid_request` if a call has no text, or more than it may have. For `refuse` of a wire: nothing is sent by then. */
export function refuseTexts(
  { maxTexts }: EmbeddingLimits,
  { texts }: EmbeddingRequest,
  call: CallOrigin,
): void {
  const { length } = texts
  if (length > 0 && length <= maxTexts) return
  const message = `one call to ${call.provider} embeds 1 to ${maxTexts} texts, not ${length}; embed() splits them`
  throw new AdapterError('invalid_request', message, call)
}

/**
 * The response of vectors as they were sent, in the order of the texts. Whatever is wrong with them is `malformed_response`: no list, not one for
 * each text, vectors of different lengths, or a value that is not a finite number. `told` is what else the provider says.
 */
export function embeddingResponse(
  vectors: unknown,
  { status, headers }: JsonAnswer,
  context: AnswerContext<EmbeddingRequest>,
  told: { readonly model?: string | undefined; readonly usage?: Usage | undefined } = {},
): EmbeddingResponse {
  const { request, call } = context
  const { texts, dimensions } = request
  const problem = vectorsProblem(vectors, texts.length)
  if (problem !== undefined) throw malformedAnswer(problem, call, status)
  // They were checked.
  const embeddings = vectors as readonly Embedding[]
  const length = embeddings[0]?.length
  const fields = responseFields(context, { model: told.model, headers })
  const ignored =
    dimensions === undefined || dimensions === length
      ? []
      : [
          {
            setting: 'dimensions',
            problem: `the vectors have ${length} numbers, not ${dimensions}`,
          },
        ]
  return {
    ...fields,
    embeddings,
    usage: told.usage ?? {},
    warnings: [...fields.warnings, ...ignored],
  }
}

/** The tokens that a server has counted. A count that is negative or no number says nothing. */
export function countedUsage(
  inputTokens: unknown,
  totalTokens: unknown,
  extra?: JsonObject,
): Usage | undefined {
  return asUsage({ inputTokens: counted(inputTokens), totalTokens: counted(totalTokens) }, extra)
}

function counted(count: unknown): number | undefined {
  const isLegal = typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER
  return isLegal ? count : undefined
}

/** The error of an answer that is not what was asked for. */
export function malformedAnswer(problem: string, call: UnsentCall, status: number): AdapterError {
  const { provider, requestId } = call
  const message = `${provider} answered with ${problem}`
  return new AdapterError('malformed_response', message, { provider, requestId, status })
}

/** The body of an answer. A failure that was sent with the status of a success is thrown. */
export function answeredBody({ value, status }: JsonAnswer, call: UnsentCall): JsonObject {
  const body = asObject(value) ?? {}
  if (body['error'] === undefined || body['error'] === null) return body
  const { provider, requestId } = call
  const { reason, message, ...details } = judgeFailure(provider, readFailure(body))
  throw new AdapterError(reason, message, { provider, requestId, status, ...details })
}

/** Reads refusals. A server that was started without such models says so, and does not learn it by being asked again. */
export function modelFailures(provider: string): HttpCall['parseFailure'] {
  const parse = failureParser(provider)
  return (refusal) => {
    const read = parse(refusal)
    const isMissing = read.metadata?.['type'] === 'not_supported_error'
    return isMissing ? { ...read, reason: 'unsupported_feature' } : read
  }
}
