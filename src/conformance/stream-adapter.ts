import type { ChatCase } from './harness.ts'
import { asideCases, orderCases, reasoningCases, textCases, usageCases } from './stream-answers.ts'
import { hygieneCases, isolationCases, stoppingCases } from './stream-conduct.ts'
import { failureCases, refusalCases, timeCases } from './stream-failures.ts'
import { mediaCases, messageCases, settingCases, toolRequestCases } from './stream-requests.ts'
import { toolCases, toolPieceCases } from './stream-tools.ts'

/** The events of an answer. */
const answerCases: readonly ChatCase[] = [
  ...orderCases,
  ...textCases,
  ...toolCases,
  ...toolPieceCases,
  ...reasoningCases,
  ...usageCases,
  ...asideCases,
]

/** What an adapter sends. */
const requestCases: readonly ChatCase[] = [
  ...messageCases,
  ...toolRequestCases,
  ...settingCases,
  ...mediaCases,
]

/** The cases for `stream` of every chat adapter. */
export const streamAdapterCases: readonly ChatCase[] = [
  ...answerCases,
  ...refusalCases,
  ...failureCases,
  ...stoppingCases,
  ...timeCases,
  ...requestCases,
  ...isolationCases,
  ...hygieneCases,
]
