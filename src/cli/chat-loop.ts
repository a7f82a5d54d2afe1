import { answerTo, turnFor } from './chat-commands.ts'
import { openSession, sessionSaver } from './chat-session.ts'
import type { ChatSetup } from './chat-setup.ts'
import { playTurn } from './chat-turn.ts'
import { exitCodes } from './exit-codes.ts'
import { isInteractive } from './io.ts'
import { lineReader } from './line-reader.ts'
import { pendingQuestion, questionLine } from './pending-question.ts'
import { styleFor } from './style.ts'
import type { Session } from '../session/session.ts'

/** Talks until the user leaves, and gives the exit code. */
export async function chatLoop(setup: ChatSetup): Promise<number> {
  const { io, partner, path } = setup
  const say = (text: string): void => void io.stdout.write(`${text}\n`)
  const style = styleFor(io.stdout, io.env)
  let session = await openSession(setup, say)
  say(
    style.dim(`allm chat with ${partner}${path === undefined ? '' : `, saved to ${path}`} · /help`),
  )
  const reader = lineReader(io)
  const save = sessionSaver(path)
  let interrupts = 0
  try {
    for (;;) {
      const question = pendingQuestion(session)
      if (question !== undefined) say(`${style.bold('?')} ${questionLine(question)}`)
      const answer = await reader.ask('> ')
      if (answer.type === 'interrupt') {
        if (++interrupts > 1) return exitCodes.interrupted
        say(style.dim('(Ctrl-C again leaves)'))
        continue
      }
      const text = answer.type === 'line' ? answer.text.trim() : '/quit'
      if (text === '/quit') {
        say(farewell(path, session))
        // A script that talks to us has to see that its last turn failed; a person has seen it.
        return session.status === 'error' && !isInteractive(io) ? exitCodes.failed : exitCodes.ok
      }
      const start = turnFor(setup, session, text)
      if (start === undefined) {
        say(answerTo(setup, session, text))
        continue
      }
      const turn = await playTurn({ io, start, save })
      session = turn.session
      interrupts = turn.interrupts
      if (interrupts > 1) return exitCodes.interrupted
    }
  } finally {
    reader.close()
  }
}

function farewell(path: string | undefined, { thread }: Session): string {
  const saved = path !== undefined && thread.messages.length > 0
  return saved ? `saved; go on with: allm chat --session ${path}` : 'bye'
}
