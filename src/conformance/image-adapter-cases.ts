import type { ImageCase } from './image-harness.ts'
import { failureCases } from './image/failure-cases.ts'
import { operationCases } from './image/operation-cases.ts'
import { responseCases } from './image/response-cases.ts'

/** What every image adapter has to do. */
export const imageAdapterCases: readonly ImageCase[] = [
  ...operationCases,
  ...responseCases,
  ...failureCases,
]
