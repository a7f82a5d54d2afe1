import { answerDetailCases, failureDetailCases } from './answer-details.ts'
import type { ChatCase } from './harness.ts'
import { echoDetailCases, mediaDetailCases, requestDetailCases } from './request-details.ts'
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
  ...answerDetailCases,
]

/** What an adapter sends. */
const requestCases: readonly ChatCase[] = [
  ...messageCases,
  ...toolRequestCases,
  ...settingCases,
  ...mediaCases,
  ...requestDetailCases,
  ...mediaDetailCases,
  ...echoDetailCases,
]

/** The cases for `stream` of every chat adapter. */
export const streamAdapterCases: readonly ChatCase[] = [
  ...answerCases,
  ...refusalCases,
  ...failureCases,
  ...failureDetailCases,
  ...stoppingCases,
  ...timeCases,
  ...requestCases,
  ...isolationCases,
  ...hygieneCases,
]
