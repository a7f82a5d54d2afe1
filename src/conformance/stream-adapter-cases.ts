import type { ChatCase } from './chat-harness.ts'
import { answerCases } from './stream/answer-cases.ts'
import { failureCases } from './stream/failure-cases.ts'
import { hygieneCases } from './stream/hygiene-cases.ts'
import { isolationCases } from './stream/isolation-cases.ts'
import { refusalCases } from './stream/refusal-cases.ts'
import { sentCases } from './stream/sent-cases.ts'
import { stoppingCases } from './stream/stopping-cases.ts'
import { timeCases } from './stream/time-cases.ts'

/** What `stream` of every chat adapter has to do. */
export const streamAdapterCases: readonly ChatCase[] = [
  ...answerCases,
  ...refusalCases,
  ...failureCases,
  ...stoppingCases,
  ...timeCases,
  ...sentCases,
  ...isolationCases,
  ...hygieneCases,
]
