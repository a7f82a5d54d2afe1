import type { Loop } from './loop.ts'
import type { BatchSource } from '../run/run-stream.ts'
import type { ModelResponse } from '../types/response.ts'

/** Where a loop is. */
export interface Place {
  readonly loop: Loop
  /** One step, or all of them. */
  readonly kind: 'step' | 'chat'
  /** How far the step has come: `tools` are run, `answered` is every call that is ours to answer, `halted` was the last step. */
  stage: 'start' | 'model' | 'tools' | 'answered' | 'halted' | 'over'
  /** What is read now: a model call, or a batch of tools. */
  source: BatchSource | undefined
  /** The answer of the step, once its tools are begun. */
  answer: ModelResponse
  /** Nobody wants to hear more. */
  left: boolean
}
