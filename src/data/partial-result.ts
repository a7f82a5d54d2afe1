import type { ChatResult } from './chat-result.ts'
import type { ModelResponse } from './model-response.ts'
import type { StepResult } from './step-result.ts'

/** What was received before a failure: the fold of the call that failed. */
export type PartialResult = ModelResponse | StepResult | ChatResult
