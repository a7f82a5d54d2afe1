import { collectBatches } from '../run/collect.ts'
import { failureOf } from '../run/collector.ts'
import type { FakeInput } from './begin-call.ts'
import { playCall } from './play-call.ts'
import type { ModelResponse } from '../types/response.ts'

/** One attempt at a call: the fold of its stream. Rejects where the stream throws or ends in `error`. */
export async function foldCall(input: FakeInput): Promise<ModelResponse> {
  const response = await collectBatches(playCall(input))
  if (response.error !== undefined) throw failureOf(response.error, response)
  return response
}
