/** Why a provider refuses a request: its sentence, and what it names beside it. */
export interface RequestProblem {
  readonly message: string
  /** OpenAI: the parameter that is at fault. */
  readonly param?: string
  /** OpenAI: the code of the refusal. */
  readonly code?: string
}

/** The first problem that a check finds in a list of items. */
export function firstProblem<Item>(
  items: Iterable<Item>,
  check: (item: Item, index: number) => RequestProblem | undefined,
): RequestProblem | undefined {
  let index = 0
  for (const item of items) {
    const problem = check(item, index++)
    if (problem !== undefined) return problem
  }
  return undefined
}
