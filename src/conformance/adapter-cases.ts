import type { ChatCase } from './chat-harness.ts'
import { conductCases } from './generate/conduct-cases.ts'
import { foldCases } from './generate/fold-cases.ts'
import { rejectionCases } from './generate/rejection-cases.ts'
import { responseCases } from './generate/response-cases.ts'
import { timeCases } from './generate/time-cases.ts'

/** What `generate` of a chat adapter has to do, where it has one. */
export const adapterCases: readonly ChatCase[] = [
  ...responseCases,
  ...foldCases,
  ...rejectionCases,
  ...timeCases,
  ...conductCases,
]
