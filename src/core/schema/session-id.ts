import { refusal } from './checks.ts'

/**
 * Throws if the id of a session has control characters or line separators, with which it could forge lines of a log, or is `.` or `..`, which every address
 * drops. It is asked where ids come from clients, and where sessions are made. Stores take such ids, because earlier versions did: what is kept under one can be read, settled and deleted.
 */
export function assertPrintableId(id: unknown): void {
  if (typeof id !== 'string') return
  if (id === '.' || id === '..') {
    throw refusal('invalid_session', 'id', 'must not be . or .., which no address can hold')
  }
  if (!/[\p{Cc}\u2028\u2029]/u.test(id)) return
  const problem = 'must not contain control characters or line separators; encode them'
  throw refusal('invalid_session', 'id', problem)
}
