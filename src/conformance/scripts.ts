import type { Script } from '../testing/script-entry.ts'

/** An answer of one text block, in two pieces. */
export const hello: Script = [
  ['text', 'Hel'],
  ['text', 'lo'],
  ['finish', 'stop'],
]

/** A minute, which no case waits for: the clock moves by hand. */
const long = 60_000

/** An answer that falls silent in its middle. */
export const slow: Script = [
  ['text', 'first'],
  ['delay', long],
  ['text', 'second'],
  ['finish', 'stop'],
]

/** An answer that keeps one waiting for its first event. */
export const late: Script = [
  ['delay', long],
  ['text', 'late'],
  ['finish', 'stop'],
]

/** A refusal. */
export const refused: Script = [['preflight_error', 'authentication_failed', { status: 401 }]]

/** A call of a tool. */
export const weatherCall: Script = [
  ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
  ['finish', 'tool_calls'],
]
