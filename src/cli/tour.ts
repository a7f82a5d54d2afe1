import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { askPerson, isResumable, pendingQuestion, questionLine } from './chat.ts'
import { exitCodes, failure, type Command, type CommandCall } from './command.ts'
import { describeFailure } from './describe-error.ts'
import { readSession, writeSession } from './files.ts'
import { isInteractive, lineReader, styleFor, type Io, type Output, type Style } from './io.ts'
import { narrator } from './narrator.ts'
import { chooseProvider, providerOptions, spoken, type ChosenProvider } from './provider.ts'
import { timeline, timelineChart, type Timeline } from './run.ts'
import type { Engine } from '../contracts/engine.ts'
import type { Tool } from '../contracts/tool.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { system, user } from '../make/messages.ts'
import { tool } from '../make/tools.ts'
import { createEngine } from '../run/engine.ts'
import { streamGenerate } from '../run/generate.ts'
import { Session } from '../session/session.ts'
import { fake } from '../testing/fake.ts'
import type { Script } from '../testing/script.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import type { StreamEvent } from '../types/events.ts'

/** Stands before the words of the model, and of the user. */
const leads = { model: 'model  ', user: 'you    ', note: '       ' } as const

/** What the user says in the tour, and what the model is told. */
const tourWords = {
  first: 'In one sentence: why would one stop, save and resume an LLM run?',
  system:
    'You plan a picnic. First call weather and free_hours together, in one turn. Then call ask_person once to ask at which of the free hours it shall start. Then describe the plan in about 40 words of plain text.',
  plan: 'Plan a picnic in Ghent on Saturday.',
} as const

/** What the fake answers to the first question. */
const firstAnswer: Script = spoken(
  'Because tabs close, processes die and people go home, and nobody wants to pay for the same words twice.',
  300,
  30,
)

/** What the fake does to plan the picnic: two tools at once, then a question. */
const planning: readonly Script[] = [
  [
    ['delay', 350],
    ['tool_call', { id: 'call-1', name: 'weather', arguments: { city: 'Ghent', day: 'Saturday' } }],
    ['tool_call', { id: 'call-2', name: 'free_hours', arguments: { day: 'Saturday' } }],
    ['finish', 'tool_calls'],
  ],
  [
    ['delay', 300],
    [
      'tool_call',
      {
        id: 'call-3',
        name: 'ask_person',
        arguments: { question: 'When shall it start?', choices: ['12:00', '13:00'] },
      },
    ],
    ['finish', 'tool_calls'],
  ],
]

/** After so many pieces of its answer the model is stopped. */
const enough = 8

/** `allm tour`: the main job of the library in five acts. `npm start` runs it. */
export const tourCommand: Command = {
  name: 'tour',
  summary: 'see a run stream, call tools, ask, stop, save, resume and finish',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    session: { value: '<file>', short: 's', help: 'keep the saved session in this file' },
    fast: { help: 'do not play the Fake at the pace of its script' },
  },
  notes: ['Where there is no terminal, the tour answers its own question.'],
  positionals: [0, 0],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const stage = createStage(call)
  const kept = call.text('session')
  const folder = kept === undefined ? await mkdtemp(join(tmpdir(), 'allm-tour-')) : undefined
  const path = kept ?? join(folder ?? '', 'tour.session.json')
  try {
    await perform(stage, path)
  } finally {
    await stage.output.flush()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
  return exitCodes.ok
}

async function perform(stage: Stage, path: string): Promise<void> {
  stage.say(`allm tour on ${stage.partner}`)
  if (stage.isFake) stage.say('(a key in the environment, or --provider, takes it to a real model)')
  await streamed(stage)
  const asking = await askedToPlan(stage)
  const answer = await answered(stage, asking)
  await stopped(stage, asking, answer, path)
  await resumed(stage, answer, path)
  stage.say('')
  stage.say(stage.style.bold('What happened when'))
  stage.say('(░ waits for the model, █ is busy, ◆ is a moment)')
  for (const line of timelineChart(stage.log.rows)) stage.say(line)
}

/**
 * Shows a run on the stage and writes it into the timeline. With `stopAfter`, the run is left after so many pieces of text.
 *
 * Says whether it was stopped. A run that fails ends the tour.
 */
async function play(
  stage: Stage,
  events: AsyncIterable<StreamEvent>,
  stopAfter: number = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const { io, log, style, output } = stage
  const { env } = io
  const teller = narrator({ write: output.write, style, env, lead: leads.model })
  let pieces = 0
  log.begin()
  for await (const event of events) {
    log.note(event)
    if (event.type === 'error') throw failure(describeFailure(event.error, env))
    teller.show(event)
    if (event.type === 'text_delta' && ++pieces >= stopAfter) break
  }
  const isStopped = pieces >= stopAfter
  if (isStopped) output.write('…')
  teller.endLine()
  if (isStopped) log.cut('is stopped')
  return isStopped
}

/** Act 1: an answer, word by word. */
async function streamed(stage: Stage): Promise<void> {
  heading(stage, '1. An answer is streamed')
  stage.say(`${leads.user}${tourWords.first}`)
  const engine = stage.engine([firstAnswer])
  await play(stage, streamGenerate(engine, [user(tourWords.first)], { toolChoice: 'none' }))
}

/** Act 2: a session in which the model calls two tools at once, and then asks. */
async function askedToPlan(stage: Stage): Promise<Session> {
  heading(stage, '2. Two tools are called at once')
  stage.say(`${leads.user}${tourWords.plan}`)
  const messages = [system(tourWords.system), user(tourWords.plan)]
  const run = Session.streamStart(stage.engine(planning), Session.create({ id: 'tour', messages }))
  await play(stage, run)
  return run.session
}

/** Act 3: the question goes to whoever sits at the terminal; without one, the tour answers itself. */
async function answered(stage: Stage, session: Session): Promise<string> {
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
function heading({ say, style }: Stage, text: string): void {
  say('')
  say(style.bold(text))
}

async function askAtTerminal({ io }: Stage): Promise<string> {
  const reader = lineReader(io)
  const answer = await reader.ask(leads.user)
  reader.close()
  return answer.type === 'line' ? answer.text.trim() : ''
}

/** Act 4: the run is left in the middle of the answer, and saved. */
async function stopped(stage: Stage, asking: Session, answer: string, path: string): Promise<void> {
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
async function resumed(stage: Stage, answer: string, path: string): Promise<void> {
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

/** Where the tour takes place. */
interface Stage {
  readonly io: Io
  /** Who answers, in words. */
  readonly partner: string
  readonly isFake: boolean
  readonly clock: Clock
  readonly log: Timeline
  readonly style: Style
  readonly output: Pacer
  readonly engine: EngineMaker
  readonly say: (line: string) => void
}

/**
 * Sets the stage: on the fake with a virtual clock, so that nothing waits and every run is the same, or with a real provider.
 *
 * At a terminal the fake is shown at the pace that its script has, unless `--fast`.
 */
function createStage(call: CommandCall): Stage {
  const { io } = call
  const provider = chooseProvider(call)
  const clock = io.clock ?? (provider === undefined ? virtualClock() : systemClock)
  const live = provider === undefined && io.stdout.isTTY === true && !call.flag('fast')
  const output = pacer(io.stdout, clock, live ? setTimeout : undefined)
  return {
    io,
    partner:
      provider === undefined
        ? 'the Fake: scripted, offline, the same every time'
        : `${provider.name} ${provider.model}`,
    isFake: provider === undefined,
    clock,
    log: timeline(clock),
    style: styleFor(io.stdout, io.env),
    output,
    engine: engineMaker(provider, clock),
    say: (line) => output.write(`${line}\n`),
  }
}

/** Makes a new engine. The fake plays the scripts; a real provider answers by itself. */
type EngineMaker = (scripts: readonly Script[]) => Engine

/** The maker of the tour's engines. */
function engineMaker(provider: ChosenProvider | undefined, clock: Clock): EngineMaker {
  const tools = tourTools(clock)
  return (scripts) =>
    createEngine({
      adapter: provider?.adapter ?? fake({ scripts }),
      model: provider?.model,
      keys: provider?.keys,
      clock,
      tools,
    })
}

/** The tools of the tour. They take a moment by the clock, so that one can see them run side by side. */
function tourTools(clock: Clock): readonly Tool[] {
  return [
    tool({
      name: 'weather',
      description: 'The weather of a city on a day.',
      schema: {
        type: 'object',
        properties: { city: { type: 'string' }, day: { type: 'string' } },
        required: ['city', 'day'],
        additionalProperties: false,
      },
      idempotent: true,
      handler: async (_args, { signal }) => {
        await clock.sleep(400, signal)
        return { sky: 'sunny', celsius: 21 }
      },
    }),
    tool({
      name: 'free_hours',
      description: 'The hours of a day at which everybody is free.',
      schema: {
        type: 'object',
        properties: { day: { type: 'string' } },
        required: ['day'],
        additionalProperties: false,
      },
      idempotent: true,
      handler: async (_args, { signal }) => {
        await clock.sleep(250, signal)
        return ['12:00', '13:00']
      },
    }),
    askPerson,
  ]
}

/** The plan, as the fake tells it. */
function plan(start: string): Script {
  return spoken(
    `We meet at ${start} in the Citadelpark. It will be sunny, 21 degrees, so bring a blanket, lemonade and something to read in the shade.`,
    300,
    30,
  )
}

/** Writes text now, or at the pace of a clock that does not wait. */
interface Pacer {
  readonly write: (text: string) => void
  /** Resolves when everything has been written. */
  readonly flush: () => Promise<void>
}

/**
 * A writer that shows what happened on a virtual clock as it would have been seen. Each text is held with its time, and `flush`
 * writes them one after the other, waiting as long as the clock says. Without `wait` everything is written at once.
 */
export function pacer(
  output: Output,
  clock: Clock,
  wait?: (ms: number) => Promise<unknown>,
): Pacer {
  let held: { readonly at: number; readonly text: string }[] = []
  let shown = clock.now()
  return {
    write(text) {
      if (wait === undefined) output.write(text)
      else held.push({ at: clock.now(), text })
    },
    async flush() {
      const texts = held
      held = []
      for (const { at, text } of texts) {
        if (at > shown) await wait?.(at - shown)
        shown = Math.max(shown, at)
        output.write(text)
      }
    },
  }
}
