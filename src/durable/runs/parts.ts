import type { Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { describe } from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import type { RunStore } from '../stores/run-store.ts'
import type { Runs, Sent } from './contract.ts'

/** What runs are made of, for the parts of the library that look inside. */
export interface RunsParts {
  readonly store: RunStore
  readonly clock: Clock
  readonly engineFor: (session: Session) => Engine | Promise<Engine>
  /** Gives any command to a session, as the method of its type does. */
  readonly give: (id: string, command: SessionCommand) => Promise<Sent>
}

/** Where runs have their parts, also across copies of the package. */
const partsKey: unique symbol = Symbol.for('allm-ts.runs')

/** The runs, with their parts where only the library finds them. */
export function withParts(runs: Runs, parts: RunsParts): Runs {
  return Object.defineProperty(runs, partsKey, { value: parts })
}

/** The parts of runs. A value that `createRuns` did not make is refused. */
export function partsOf(runs: Runs): RunsParts {
  const parts: unknown = isObject(runs) ? Reflect.get(runs, partsKey) : undefined
  // Only `withParts` writes there.
  if (isObject(parts)) return parts as unknown as RunsParts
  const problem = `must be runs made by createRuns, not ${describe(runs)}`
  throw new ValidationError('invalid_options', [{ path: 'runs', problem }])
}
