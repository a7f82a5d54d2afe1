import { AdapterError } from '../errors/errors.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { StepResult } from '../types/results.ts'

/**
 * Why a step failed, if it did: what a tool's failure halted it with, or an answer whose `finishReason` is `error`.
 *
 * A provider may end an answer so without saying more; then the error is made here, so that nobody has to guess.
 */
export function stepError({
  response,
  halt,
}: Pick<StepResult, 'response' | 'halt'>): ErrorData | undefined {
  if (halt !== undefined) return halt.error
  const { finishReason, rawFinishReason, error, provider, requestId } = response
  if (finishReason !== 'error') return undefined
  if (error !== undefined) return error
  const word = rawFinishReason === undefined ? '' : ` (${rawFinishReason})`
  const message = `${provider} ended its answer with an error${word}`
  return new AdapterError('unknown', message, { provider, requestId }).toJSON()
}
