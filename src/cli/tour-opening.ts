import { isInteractive } from './io.ts'
import { lineReader } from './line-reader.ts'
import { pendingQuestion, questionLine } from './pending-question.ts'
import { leads, play } from './tour-play.ts'
import { firstAnswer, planning, tourWords } from './tour-script.ts'
import type { Stage } from './tour-stage.ts'
import { system, user } from '../make/messages.ts'
import { streamGenerate } from '../run/generate.ts'
import { Session } from '../session/session.ts'

/** Act 1: an answer, word by word. */
export async function streamed(stage: Stage): Promise<void> {
  heading(stage, '1. An answer is streamed')
  stage.say(`${leads.user}${tourWords.first}`)
  const engine = stage.engine([firstAnswer])
  await play(stage, streamGenerate(engine, [user(tourWords.first)], { toolChoice: 'none' }))
}

/** Act 2: a session in which the model calls two tools at once, and then asks. */
export async function askedToPlan(stage: Stage): Promise<Session> {
  heading(stage, '2. Two tools are called at once')
  stage.say(`${leads.user}${tourWords.plan}`)
  const messages = [system(tourWords.system), user(tourWords.plan)]
  const run = Session.streamStart(stage.engine(planning), Session.create({ id: 'tour', messages }))
  await play(stage, run)
  return run.session
}

/** Act 3: the question goes to whoever sits at the terminal; without one, the tour answers itself. */
export async function answered(stage: Stage, session: Session): Promise<string> {
  const { io, clock, log, output } = stage
  heading(stage, '3. A tool asks the user, and the run waits')
  const asked = pendingQuestion(session)
  if (asked === undefined) {
    stage.say(`${leads.note}(the model did not ask; it is told to go on)`)
    return 'At noon. Please tell me the plan.'
  }
  stage.say(`${leads.model}${questionLine(asked)}`)
  const proposal = asked.choices.at(-1) ?? 'at noon'
  await output.flush()
  const since = clock.now()
  const said = isInteractive(io) ? await askAtTerminal(stage) : ''
  const answer = said === '' ? proposal : said
  if (said === '') stage.say(`${leads.user}${answer}  (nobody is here, so the tour answers itself)`)
  log.mark('user', `says ${answer}`, since)
  return answer
}

/** A heading, set apart. */
export function heading({ say, style }: Stage, text: string): void {
  say('')
  say(style.bold(text))
}

async function askAtTerminal({ io }: Stage): Promise<string> {
  const reader = lineReader(io)
  const answer = await reader.ask(leads.user)
  reader.close()
  return answer.type === 'line' ? answer.text.trim() : ''
}
