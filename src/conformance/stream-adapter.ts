import type { ChatCase } from './harness.ts'
import { asideCases, orderCases, reasoningCases, textCases, usageCases } from './stream-answers.ts'
import { hygieneCases, isolationCases, sentCases, stoppingCases } from './stream-conduct.ts'
import { failureCases, refusalCases, timeCases } from './stream-failures.ts'
import { toolCases, toolPieceCases } from './stream-tools.ts'

/** What the events of an answer say. */
const answerCases: readonly ChatCase[] = [
  ...orderCases,
  ...textCases,
  ...toolCases,
  ...toolPieceCases,
  ...reasoningCases,
  ...usageCases,
  ...asideCases,
]

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
