import { contract, type ContractName } from './contract.ts'
import { show } from './show.ts'

/** What a case found: what it expected, what it got, and the sentence of the contract that it goes by. */
export interface Finding {
  /** Completes "expected …". */
  readonly expected: string
  readonly received: unknown
  /** The promise that is broken. */
  readonly contract: ContractName
  /** What usually is the reason. */
  readonly hint?: string | undefined
}

/** An implementation broke its contract. The message has all that is needed to find out where. */
export class ConformanceFailure extends Error {
  override readonly name = 'ConformanceFailure'
  readonly expected: string
  readonly received: unknown
  /** The promise that is broken, in words. */
  readonly contract: string

  constructor(finding: Finding) {
    super(message(finding))
    this.expected = finding.expected
    this.received = finding.received
    this.contract = contract[finding.contract]
  }
}

/** Fails the case unless the condition holds. */
export function demand(holds: boolean, finding: Finding): asserts holds {
  if (!holds) throw new ConformanceFailure(finding)
}

function message({ expected, received, contract: promise, hint }: Finding): string {
  const lines = [
    `expected ${expected}`,
    `received: ${show(received)}`,
    `contract: ${contract[promise]}`,
  ]
  if (hint !== undefined) lines.push(`hint: ${hint}`)
  return lines.join('\n  ')
}
