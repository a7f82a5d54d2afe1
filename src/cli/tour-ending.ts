import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { isResumable } from './chat-session.ts'
import { failure } from './cli-error.ts'
import { readSession, writeSession } from './session-file.ts'
import { heading } from './tour-opening.ts'
import { leads, play } from './tour-play.ts'
import { plan } from './tour-script.ts'
import type { Stage } from './tour-stage.ts'
import { Session } from '../session/session.ts'

/** After so many pieces of its answer the model is stopped. */
const enough = 8

/** Act 4: the run is left in the middle of the answer, and saved. */
export async function stopped(
  stage: Stage,
  asking: Session,
  answer: string,
  path: string,
): Promise<void> {
  const { log, say } = stage
  heading(stage, '4. The run is stopped in the middle, and saved')
  const run = Session.streamReply(stage.engine([plan(answer)]), asking, answer)
  const wasStopped = await play(stage, run, enough)
  await writeSession(path, run.session)
  const { size } = await stat(path)
  log.mark('file', 'is saved')
  const how = wasStopped
    ? `stopped after ${enough} pieces of text`
    : 'the model was done before it could be stopped'
  say(`${leads.note}(${how}; ${size} bytes in ${basename(path)})`)
}

/** Act 5: another engine reads the file and finishes. */
export async function resumed(stage: Stage, answer: string, path: string): Promise<void> {
  const { log, say } = stage
  heading(stage, '5. It is resumed from the file, and finished')
  const session = await readSession(path)
  if (session === undefined) throw failure(`${path} is gone`)
  log.mark('file', 'is read')
  if (isResumable(session)) {
    const run = Session.streamResume(stage.engine([plan(answer)]), session)
    await play(stage, run)
    await writeSession(path, run.session)
    say(`${leads.note}(${ending(run.session, log.rows)})`)
    return
  }
  say(`${leads.note}(${session.status}; there is nothing left to do)`)
}

/** How it came out, counted: a tool that ran twice would be seen here. */
function ending({ status, thread }: Session, rows: Stage['log']['rows']): string {
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls).length
  const runs = rows.filter(({ lane }) => lane === 'tool').length
  return `${status}: ${thread.messages.length} messages, ${calls} tool calls, ${runs} tool runs`
}
