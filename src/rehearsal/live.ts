import { ValidationError } from '../errors/errors.ts'
import type { CrashScenario } from './crash-scenario.ts'
import type { Life } from './life.ts'
import { submitToolResults } from '../session/changes.ts'
import {
  streamReply,
  streamResume,
  streamStart,
  type SessionStream,
} from '../session/operations.ts'
import type { StreamEvent } from '../types/events.ts'
import type { Session } from '../types/session.ts'

/** Where a life has got to. */
export interface Ending {
  readonly session: Session
  /** Events that were handed out. */
  readonly events: number
  /** Moments at which the session could be saved: before each piece of the run, and after each event. */
  readonly moments: number
  /** The run came to its own end; else it was cut. */
  readonly ended: boolean
  /** Calls whose handlers had started and had no result when the run was cut. */
  readonly started: readonly string[]
}

/**
 * Lives through a run: from its messages, or from a session that an earlier life left. A session that waits is answered by
 * `onSuspend`, one that failed is resumed as long as the model has more to say. The life ends at the moment `cut`, counted
 * from 1.
 */
export async function live(
  scenario: CrashScenario,
  life: Life,
  from: Session | undefined,
  cut: number,
): Promise<Ending> {
  let events = 0
  let moments = 0
  let stream: SessionStream | undefined
  let session = from
  for (;;) {
    stream = next(scenario, life, session)
    if (stream === undefined) break
    const outcome = await follow(stream, life, cut - moments - 1)
    events += outcome.events
    moments += 1 + outcome.events
    session = outcome.session
    if (outcome.cut) return { session, events, moments, ended: false, started: openCalls(session) }
  }
  if (session === undefined) throw new Error('the run gave no session')
  return { session, events, moments, ended: true, started: [] }
}

/** The next piece of the run, or `undefined` when it is over. */
function next(
  scenario: CrashScenario,
  life: Life,
  session: Session | undefined,
): SessionStream | undefined {
  const { engine, tools } = life
  const options = scenario.engine === undefined ? scenario.options : { ...scenario.options, tools }
  if (session === undefined) return streamStart(engine, scenario.messages, options)
  switch (session.status) {
    case 'completed':
      return undefined
    case 'idle':
      return streamResume(engine, session, options)
    case 'error':
      return life.hasMore() ? streamResume(engine, session, options) : undefined
    case 'awaiting_user':
    case 'awaiting_tools': {
      const answer = scenario.onSuspend?.(session)
      if (answer === undefined) throw unanswered(session)
      if ('reply' in answer) return streamReply(engine, session, answer.reply, options)
      const submitted = submitToolResults(session, answer.toolResults)
      return submitted.status === 'idle'
        ? streamResume(engine, submitted, options)
        : next(scenario, life, submitted)
    }
  }
}

function unanswered({ status }: Session): ValidationError {
  return new ValidationError('invalid_options', [
    { path: 'onSuspend', problem: `is needed: the run has stopped in status ${status}` },
  ])
}

async function follow(
  stream: SessionStream,
  life: Life,
  limit: number,
): Promise<{ readonly events: number; readonly session: Session; readonly cut: boolean }> {
  let events = 0
  if (limit === 0) return { events, session: stream.session, cut: true }
  try {
    for await (const event of stream) {
      note(life, event)
      events++
      if (events === limit) return { events, session: stream.session, cut: true }
    }
  } catch (error) {
    // A call that failed before its first event is in the session's record; anything else is a mistake of the scenario.
    if (stream.session.status !== 'error') throw error
    life.onCall('ended')
  }
  return { events, session: stream.session, cut: false }
}

function note(life: Life, { type }: StreamEvent): void {
  if (type === 'message_started') life.onCall('began')
  else if (type === 'message_completed' || type === 'error') life.onCall('ended')
}

function openCalls({ run, thread }: Session): readonly string[] {
  const marked = new Set(
    thread.messages
      .filter(({ metadata }) => metadata?.['interrupted'] === true)
      .map(({ toolCallId }) => toolCallId),
  )
  return (run?.started ?? []).filter((id) => marked.has(id))
}
