import { demand } from './conformance-failure.ts'
import { isAllmError } from '../errors/errors.ts'

/** Demands that a call rejected because it was cancelled. What did not reject is shown as it is. */
export function demandCancelled(outcome: { readonly thrown: unknown } | string): void {
  const thrown = typeof outcome === 'string' ? undefined : outcome.thrown
  demand(isAllmError(thrown) && thrown.reason === 'cancelled', {
    expected: 'a rejection with StreamError cancelled',
    received: typeof outcome === 'string' ? outcome : thrown,
    contract: 'cancelled',
    hint: 'what fetch throws for an aborted signal is no error of this library; turn it into one',
  })
}
