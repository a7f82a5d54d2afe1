import type { ChatCase } from '../chat-harness.ts'
import { asideCases } from './aside-cases.ts'
import { orderCases } from './order-cases.ts'
import { reasoningCases } from './reasoning-cases.ts'
import { textCases } from './text-cases.ts'
import { toolCases } from './tool-cases.ts'
import { toolPieceCases } from './tool-piece-cases.ts'
import { usageCases } from './usage-cases.ts'

/** What the events of an answer say. */
export const answerCases: readonly ChatCase[] = [
  ...orderCases,
  ...textCases,
  ...toolCases,
  ...toolPieceCases,
  ...reasoningCases,
  ...usageCases,
  ...asideCases,
]
