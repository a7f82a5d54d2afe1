import { StreamError } from '../errors/errors.ts'
import type { Runs } from './crash-scenario.ts'
import type { Ending } from './live.ts'
import type { Message } from '../types/message.ts'

/** Refuses a resumed run that did not end as the uncut one did, or that ran a tool twice. */
export function checkCut(uncut: Ending, resumed: Ending, cut: number, runs: Runs): void {
  const fail = (what: string, expected: unknown, actual: unknown): never => {
    const message = `the run that was cut at moment ${cut} of ${uncut.moments} diverges: ${what}`
    throw new StreamError(
      'unknown',
      `${message}\n  uncut:   ${text(expected)}\n  resumed: ${text(actual)}`,
      {
        metadata: { cut, expected, actual },
      },
    )
  }
  const lost = lostCalls(resumed, runs)
  const expected = comparable(uncut, lost)
  const actual = comparable(resumed, lost)
  if (expected.length !== actual.length) fail('its number of messages', expected, actual)
  expected.forEach((message, index) => {
    const other = actual[index]
    if (other !== undefined && mayDiffer(message, other, lost)) return
    if (text(message) !== text(other)) fail(`message ${index}`, message, other)
  })
  if (lost.size === 0 && resumed.session.status !== uncut.session.status) {
    fail('its status', uncut.session.status, resumed.session.status)
  }
  for (const [id, { tool, times }] of runs) {
    if (times > 1 && !tool.idempotent)
      fail(`${tool.name} ran ${times} times for call ${id}`, 1, times)
  }
}

/** The calls that may be answered as interrupted: started, without a result, and not to be run twice. */
function lostCalls({ started }: Ending, runs: Runs): ReadonlySet<string> {
  return new Set(started.filter((id) => runs.get(id)?.tool.idempotent !== true))
}

/** What follows a call that was answered as interrupted may differ: the model was told something else. */
function comparable({ session }: Ending, lost: ReadonlySet<string>): readonly Message[] {
  const { messages } = session.thread
  if (lost.size === 0) return messages
  const at = messages.findIndex(({ toolCallId = '' }) => lost.has(toolCallId))
  const next = messages.findIndex(({ role }, index) => index > at && role !== 'tool')
  return next === -1 ? messages : messages.slice(0, next)
}

function mayDiffer(expected: Message, actual: Message, lost: ReadonlySet<string>): boolean {
  return (
    expected.toolCallId !== undefined &&
    lost.has(expected.toolCallId) &&
    actual.toolCallId === expected.toolCallId &&
    actual.metadata?.['interrupted'] === true
  )
}

/** Values as text with their keys in order, so that equal data gives equal text. */
function text(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
