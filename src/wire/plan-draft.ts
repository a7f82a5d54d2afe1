import type { PlanBlock, PlanStep } from './plan.ts'

/** A plan that is being made: what was said so far, and what is still open. */
export interface PlanDraft {
  readonly blocks: PlanBlock[]
  readonly steps: PlanStep[]
  /** The calls that are not complete, in the order in which they were first seen. */
  readonly openTools: Map<string, number>
  openText: number | undefined
}

/** A draft that has said nothing. */
export function newPlanDraft(): PlanDraft {
  return { blocks: [], steps: [], openTools: new Map(), openText: undefined }
}
