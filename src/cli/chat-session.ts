import type { ChatSetup } from './chat-setup.ts'
import { failure } from './cli-error.ts'
import { readSession, writeSession } from './session-file.ts'
import { system } from '../make/messages.ts'
import { Session } from '../session/session.ts'

/** The session that a chat begins with: that of the file, or a new one. */
export async function openSession(
  { path, system: instructions }: ChatSetup,
  say: (text: string) => void,
): Promise<Session> {
  const saved = path === undefined ? undefined : await readSession(path)
  if (saved === undefined) {
    return Session.create({ messages: instructions === undefined ? [] : [system(instructions)] })
  }
  if (saved.status === 'awaiting_tools') {
    const names = saved.pendingToolCalls.map(({ name }) => name).join(', ')
    throw failure(
      `${path} waits for results of ${names}; the program that offers these tools has to submit them`,
    )
  }
  const count = saved.thread.messages.length
  say(
    `going on with ${saved.id}: ${count === 1 ? '1 message' : `${count} messages`}, ${saved.status}`,
  )
  if (isResumable(saved))
    say('the last turn was cut: an empty line finishes it, or say something new')
  return saved
}

/** Whether a turn was begun and not finished. */
export function isResumable({ status, run }: Session): boolean {
  return status === 'error' || (status === 'idle' && run !== undefined)
}

/** Saves to the file of a chat; to nowhere when there is none. */
export function sessionSaver(path: string | undefined): (session: Session) => Promise<void> {
  return async (session) => {
    if (path !== undefined) await writeSession(path, session)
  }
}
