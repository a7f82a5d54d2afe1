import { isResumable } from './chat-session.ts'
import type { ChatSetup } from './chat-setup.ts'
import { streamReply, streamResume, type SessionStream } from '../session/operations.ts'
import type { Session } from '../session/session.ts'

const help = [
  '/help     this list',
  '/resume   finish a turn that was stopped (an empty line does the same)',
  '/session  where the conversation is saved, and its status',
  '/quit     leave (Ctrl-D does the same)',
].join('\n')

/** The turn that a line asks for; `undefined` when it asks for none. */
export function turnFor(
  { engine }: ChatSetup,
  session: Session,
  text: string,
): ((signal: AbortSignal) => SessionStream) | undefined {
  if (text === '' || text === '/resume') {
    if (!isResumable(session)) return undefined
    return (signal) => streamResume(engine, session, { signal })
  }
  if (text.startsWith('/')) return undefined
  return (signal) => streamReply(engine, session, text, { signal })
}

/** What is said to a line that asks for no turn. */
export function answerTo({ path, partner }: ChatSetup, session: Session, text: string): string {
  if (text === '/help') return help
  if (text === '' || text === '/resume') return 'nothing to resume; say something, or /help'
  if (text !== '/session') return `there is no ${text}\n${help}`
  const { id, status, thread } = session
  const place = path ?? 'not saved; start with --session <file>'
  return `${id} · ${status} · ${thread.messages.length} messages · ${partner} · ${place}`
}
