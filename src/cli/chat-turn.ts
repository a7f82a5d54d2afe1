import { once } from 'node:events'
import { describeError } from './describe-error.ts'
import type { Io } from './io.ts'
import { narrator } from './narrator.ts'
import { styleFor } from './style.ts'
import type { SessionStream } from '../session/operations.ts'
import type { StreamEvent } from '../types/events.ts'
import type { Session } from '../session/session.ts'

/** One turn of a chat. */
export interface ChatTurn {
  readonly io: Io
  /** Begins the turn; the signal stops it. */
  readonly start: (signal: AbortSignal) => SessionStream
  /** Keeps the session, if the user wants it kept. */
  readonly save: (session: Session) => Promise<void>
}

/** How a turn ended. */
export interface TurnEnd {
  readonly session: Session
  /** How often Ctrl-C was pressed while it ran. */
  readonly interrupts: number
}

/** The events after which a run is saved: everything but the pieces of an answer, which a resumed run asks for again. */
const landmarks: ReadonlySet<StreamEvent['type']> = new Set<StreamEvent['type']>([
  'message_completed',
  'tool_execution_started',
  'tool_execution_completed',
  'tool_result_encoded',
  'ask_user_requested',
  'tool_halt',
  'step_completed',
])

/** Plays a turn on the terminal. The first Ctrl-C stops the model, and the turn ends with all that was said; a second one does not wait. */
export async function playTurn({ io, start, save }: ChatTurn): Promise<TurnEnd> {
  const stop = new AbortController()
  let interrupts = 0
  const leave = new AbortController()
  const left = once(leave.signal, 'abort')
  const off = io.onInterrupt(() => {
    interrupts++
    if (interrupts === 1) stop.abort()
    else leave.abort()
  })
  try {
    const stream = start(stop.signal)
    await save(stream.session)
    await Promise.race([tell(stream, io, save), left])
    const { session } = stream
    await save(session)
    return { session, interrupts }
  } finally {
    off()
  }
}

async function tell(stream: SessionStream, io: Io, save: ChatTurn['save']): Promise<void> {
  const { stdout, env } = io
  const style = styleFor(stdout, env)
  const teller = narrator({ write: (text) => void stdout.write(text), style, env })
  try {
    for await (const event of stream) {
      teller.show(event)
      if (landmarks.has(event.type)) await save(stream.session)
    }
    teller.endLine()
  } catch (error) {
    teller.endLine()
    // The session has kept it, and can go on; a mistake in the setup can not.
    if (stream.session.status !== 'error') throw error
    stdout.write(`${style.bad('!')} ${describeError(error, env)}\n`)
  }
}
