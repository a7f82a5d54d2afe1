import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { systemClock, type Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { system, user } from '../../core/messages/messages.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import { streamGenerate } from '../../engine/model-call/generate.ts'
import { Session } from '../../engine/session/session.ts'
import { tool } from '../../engine/tools/tool.ts'
import { fake } from '../../testing/fakes/fake.ts'
import type { Script } from '../../testing/fakes/script.ts'
import { virtualClock } from '../../testing/fakes/virtual-clock.ts'
import {
  askPerson,
  choiceOf,
  choiceWords,
  isResumable,
  pendingQuestion,
  questionLine,
} from './chat.ts'
import { exitCodes, failure, shellWord, type Command, type CommandCall } from './command.ts'
import { describeFailure } from './describe-error.ts'
import { assertFolder, readSession, writeSession } from './files.ts'
import {
  columnsOf,
  isInteractive,
  lineReader,
  say,
  styleFor,
  type Io,
  type Output,
  type Style,
} from './io.ts'
import { json, narrator } from './narrator.ts'
import { progressOn, runProgress } from './progress.ts'
import { chooseProvider, providerOptions, streamedText, type ChosenProvider } from './provider.ts'
import { timeline, timelineChart, type Timeline } from './run.ts'

/** The text before each line. */
const leads = { model: 'model  ', user: 'you    ', prompt: 'you  > ', note: '       ' } as const

/** The messages of the user, and the instructions of the model. */
const tourWords = {
  first: 'In one sentence: why would one stop, save and resume an LLM run?',
  system:
    'You plan a picnic. First call weather and free_hours together, in one turn. Then call ask_person once to ask at which of the free hours it shall start. Then describe the plan in about 40 words of plain text.',
  plan: 'Plan a picnic in Ghent on Saturday.',
} as const

/** The fake's answer to the first question. */
const firstAnswer: Script = streamedText(
  'Because tabs close, processes die and people go home, and nobody wants to pay for the same words twice.',
  300,
  30,
)

/** The fake's scripts for the plan: two tools at once, then a question. */
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

/** The number of deltas after which the model is stopped. */
const enough = 8

/** `allm-ts tour`: the main use of the library in five steps. `npm start` runs it. */
export const tourCommand: Command = {
  name: 'tour',
  summary: 'see a run stream, call tools, ask, stop, save, resume and finish',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    session: { value: '<file>', short: 's', help: 'keep the saved session in this file' },
    fast: { help: 'show everything at once, without the delays of the script' },
  },
  notes: ['Without a terminal, the tour answers its own question.'],
  examples: [
    ['tour', 'see it on the Fake, offline'],
    ['tour --session tour.json', 'keep the session, to inspect it or to chat on'],
    ['tour --provider anthropic', 'the same on a real model'],
  ],
  positionals: [0, 0],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const tour = createTour(call)
  const kept = call.text('session')
  if (kept !== undefined) await assertFolder(kept)
  const folder = kept === undefined ? await mkdtemp(join(tmpdir(), 'allm-tour-')) : undefined
  const path = kept ?? join(folder ?? '', 'tour.session.json')
  try {
    if (!(await runSteps(tour, path, kept))) return exitCodes.interrupted
  } finally {
    await tour.output.flush()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
  return exitCodes.ok
}

/** Takes the steps. Returns whether the tour came to its end. */
async function runSteps(tour: Tour, path: string, kept: string | undefined): Promise<boolean> {
  tour.print(`allm-ts tour on ${tour.partner}`)
  if (tour.isFake)
    tour.print('(set a key in the environment, or pass --provider, to use a real model)')
  await streamed(tour)
  const asking = await askedToPlan(tour)
  const answer = await answered(tour, asking)
  if (answer === undefined) return false
  const place = kept === undefined ? 'a temporary file' : basename(kept)
  await stopped(tour, asking, answer, { path, place })
  await resumed(tour, answer, path)
  tour.print('')
  tour.print(tour.style.bold('What happened when'))
  tour.print('(░ waits for the model, █ is busy, ◆ is a moment)')
  const columns = columnsOf(tour.io.stdout)
  for (const line of timelineChart(tour.log.rows, columns)) tour.print(line)
  heading(tour, 'Next')
  for (const [line, what] of nextSteps(kept)) tour.print(`  ${line.padEnd(40)}  ${what}`)
  return true
}

/** Command lines to copy, and what they do. */
function nextSteps(kept: string | undefined): readonly (readonly [string, string])[] {
  const file = shellWord(kept ?? 'tour.json')
  const again = [`npx allm-ts tour --session ${file}`, 'the tour again, its session kept'] as const
  return [
    ...(kept === undefined ? [again] : []),
    [`npx allm-ts inspect ${file}`, 'the session in the browser'],
    [`npx allm-ts chat --session ${file}`, 'talk on'],
  ]
}

/**
 * Shows a run and records it in the timeline. With `stopAfter`, the run is stopped after that number of text deltas.
 *
 * Returns whether it was stopped. A run that fails ends the tour.
 */
async function play(
  tour: Tour,
  events: AsyncIterable<StreamEvent>,
  stopAfter: number = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const { io, log, style, output } = tour
  const { env } = io
  const progress = tour.isFake ? undefined : progressOn(io)
  const write = (text: string): void => {
    progress?.hide()
    output.write(text)
  }
  const columns = (): number | undefined => columnsOf(io.stdout)
  const lines = narrator({ write, style, env, columns, lead: leads.model })
  const waiting = progress && runProgress(progress, tour.partner, env)
  let pieces = 0
  log.begin()
  try {
    for await (const event of events) {
      log.note(event)
      if (event.type === 'error') throw failure(describeFailure(event.error, env))
      lines.show(event)
      waiting?.note(event)
      if (event.type === 'text_delta' && ++pieces >= stopAfter) break
    }
  } finally {
    waiting?.end()
  }
  const isStopped = pieces >= stopAfter
  lines.endLine(isStopped ? '…' : '')
  if (isStopped) log.cut('is stopped')
  return isStopped
}

/** Step 1: an answer is streamed. */
async function streamed(tour: Tour): Promise<void> {
  heading(tour, '1. An answer is streamed')
  tour.print(`${leads.user}${tourWords.first}`)
  const engine = tour.engine([firstAnswer])
  await play(tour, streamGenerate(engine, [user(tourWords.first)], { toolChoice: 'none' }))
}

/** Step 2: in a session, the model calls two tools at once, and then asks a question. */
async function askedToPlan(tour: Tour): Promise<Session> {
  heading(tour, '2. Two tools are called at once')
  tour.print(`${leads.user}${tourWords.plan}`)
  const messages = [system(tourWords.system), user(tourWords.plan)]
  const run = Session.streamStart(tour.engine(planning), Session.create({ id: 'tour', messages }))
  await play(tour, run)
  return run.session
}

/** Step 3: the person at the terminal answers the question. Without a terminal, the tour answers it. Ctrl-C gives no answer. */
async function answered(tour: Tour, session: Session): Promise<string | undefined> {
  const { io, clock, log, output } = tour
  heading(tour, '3. A tool asks the user, and the run waits')
  const asked = pendingQuestion(session)
  if (asked === undefined) {
    tour.print(`${leads.note}(the model did not ask; it is told to continue)`)
    return 'At noon. Please tell me the plan.'
  }
  tour.print(`${leads.model}${questionLine(asked)}`)
  const proposal = asked.choices.at(-1) ?? 'at noon'
  await output.flush()
  const since = clock.now()
  const typed = isInteractive(io) ? await askAtTerminal(tour, asked.choices) : ''
  if (typed === undefined) return undefined
  const answer = typed === '' ? proposal : typed
  if (!isInteractive(io))
    tour.print(`${leads.user}${answer}  (there is no terminal, so the tour answers itself)`)
  else if (typed === '') tour.print(`${leads.user}${answer}`)
  log.mark('user', `says ${answer}`, since)
  return answer
}

function heading({ print, style }: Tour, text: string): void {
  print('')
  print(style.bold(text))
}

/** What the person chooses. It is empty when that is left to the tour, and `undefined` after Ctrl-C. */
async function askAtTerminal(
  { io, print, output }: Tour,
  choices: readonly string[],
): Promise<string | undefined> {
  const reader = lineReader(io)
  try {
    for (;;) {
      const answer = await reader.ask(leads.prompt)
      if (answer.type === 'interrupt') return undefined
      const text = answer.type === 'line' ? answer.text.trim() : ''
      if (text === '' || choices.length === 0) return text
      const choice = choiceOf(text, choices)
      if (choice !== undefined) return choice
      print(`${leads.note}${json(text)} is not one of the choices: ${choiceWords(choices)}`)
      await output.flush()
    }
  } finally {
    reader.close()
  }
}

/** Step 4: the run is stopped in the middle of the answer, and saved. */
async function stopped(
  tour: Tour,
  asking: Session,
  answer: string,
  { path, place }: { readonly path: string; readonly place: string },
): Promise<void> {
  const { log, print } = tour
  heading(tour, '4. The run is stopped in the middle, and saved')
  const run = Session.streamReply(tour.engine([plan(answer)]), asking, answer)
  const wasStopped = await play(tour, run, enough)
  await writeSession(path, run.session)
  const { size } = await stat(path)
  log.mark('file', 'is saved')
  const how = wasStopped
    ? `stopped after ${enough} text deltas`
    : 'the model was done before it could be stopped'
  print(`${leads.note}(${how}; ${size} bytes in ${place})`)
}

/** Step 5: another engine reads the file and finishes the run. */
async function resumed(tour: Tour, answer: string, path: string): Promise<void> {
  const { log, print } = tour
  heading(tour, '5. It is resumed from the file, and finished')
  const session = await readSession(path)
  if (session === undefined) throw failure(`${path} is gone`)
  log.mark('file', 'is read')
  if (isResumable(session)) {
    const run = Session.streamResume(tour.engine([plan(answer)]), session)
    await play(tour, run)
    await writeSession(path, run.session)
    print(`${leads.note}(${ending(run.session, log.rows)})`)
    return
  }
  print(`${leads.note}(${session.status}; there is nothing left to do)`)
}

/** The result in numbers. A tool that ran twice would show here. */
function ending({ status, thread }: Session, rows: Tour['log']['rows']): string {
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls).length
  const runs = rows.filter(({ lane }) => lane === 'tool').length
  return `${status}: ${thread.messages.length} messages, ${calls} tool calls, ${runs} tool runs`
}

/** What all steps of the tour share. */
interface Tour {
  readonly io: Io
  /** The name of the provider and model, for the user. */
  readonly partner: string
  readonly isFake: boolean
  readonly clock: Clock
  readonly log: Timeline
  readonly style: Style
  readonly output: Pacer
  readonly engine: EngineMaker
  readonly print: (line: string) => void
}

/**
 * Prepares the tour: on the fake with a virtual clock, so that nothing waits and every run is the same, or on a real
 * provider.
 *
 * At a terminal the output of the fake has the delays of its script, unless `--fast`.
 */
function createTour(call: CommandCall): Tour {
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
    print: (line) => output.write(`${line}\n`),
  }
}

/** Creates an engine. The fake plays the scripts; a real provider ignores them. */
type EngineMaker = (scripts: readonly Script[]) => Engine

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

/** The tools of the tour. They take some time by the clock, so that the timeline shows them run in parallel. */
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

/** The fake's script for the answer with the plan. */
function plan(start: string): Script {
  return streamedText(
    `We meet at ${start} in the Citadelpark. It will be sunny, 21 degrees, so bring a blanket, lemonade and something to read in the shade.`,
    300,
    30,
  )
}

/** Writes text at once, or with the delays of a virtual clock. */
interface Pacer {
  readonly write: (text: string) => void
  /** Resolves when everything has been written. */
  readonly flush: () => Promise<void>
}

/**
 * A writer that replays the delays of a virtual clock. Each text is stored with its time; `flush` writes the texts with
 * the delays between them. Without `wait` everything is written at once.
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
      if (wait === undefined) say(output, text)
      else held.push({ at: clock.now(), text })
    },
    async flush() {
      const texts = held
      held = []
      for (const { at, text } of texts) {
        if (at > shown) await wait?.(at - shown)
        shown = Math.max(shown, at)
        say(output, text)
      }
    },
  }
}
