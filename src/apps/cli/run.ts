import { systemClock, type Clock } from '../../core/base/clock.ts'
import { user } from '../../core/messages/messages.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import { streamGenerate } from '../../engine/model-call/generate.ts'
import { collect } from '../../engine/model-call/read-stream.ts'
import { fake } from '../../testing/fakes/fake.ts'
import type { Script } from '../../testing/fakes/script.ts'
import { virtualClock } from '../../testing/fakes/virtual-clock.ts'
import { exitCodes, failure, type Command, type CommandCall } from './command.ts'
import { describeFailure } from './describe-error.ts'
import { readScriptFile } from './files.ts'
import { say, visible, visibleJson, visibleLine } from './io.ts'
import { eventFacts, json, usageFacts } from './narrator.ts'
import { progressOn } from './progress.ts'

/** `allm-ts run`: plays a script and prints the result. */
export const runCommand: Command = {
  name: 'run',
  summary: 'play a script on the Fake and print the response or the events',
  synopsis: '<script.json> [options]',
  options: {
    json: { help: 'print JSON, one line for each response (or event)' },
    events: { help: 'print every event instead of the response' },
    'real-time': { help: 'wait for the delays of the script' },
  },
  notes: [
    'A script file is a list of entries for one call, such as [["text", "Hello"], ["finish", "stop"]], a list of such lists for several calls, or an object with script or scripts. A path of - reads stdin.',
    'A script that ends in an error is a failed run (1); the part before the error is still printed.',
  ],
  examples: [
    ['run script.json', 'play a script, and print the response'],
    ['run script.json --events', 'print its events with their times'],
    ['run - --json', 'play what stdin has, and print JSON'],
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = '-'] = positionals
  const { scripts } = await readScriptFile(path, io)
  const asJson = call.flag('json')
  const asEvents = call.flag('events')
  const progress = progressOn(io)
  const print = (line: string): void => {
    progress.hide()
    say(io.stdout, `${line}\n`)
  }
  const onEvent = (timed: TimedEvent): void => {
    if (asEvents) print(asJson ? visibleJson(JSON.stringify(timed.event)) : eventLine(timed))
  }
  progress.wait('playing')
  try {
    for await (const played of playScripts(scripts, call.flag('real-time'), onEvent)) {
      if (!asEvents)
        print(asJson ? visibleJson(JSON.stringify(played.response)) : responseLines(played))
      const { error } = played.response
      if (error !== undefined) throw failure(`the script failed: ${describeFailure(error, io.env)}`)
    }
  } finally {
    progress.done()
  }
  return exitCodes.ok
}

function eventLine({ at, event }: TimedEvent): string {
  const facts = visibleLine(eventFacts(event))
  return `${String(at).padStart(6)} ms  ${event.type.padEnd(24)}  ${facts}`.trimEnd()
}

function responseLines({ response, durationMs }: PlayedCall): string {
  const { outputText, toolCalls, finishReason, usage } = response
  const facts = [finishReason, usageFacts(usage), `${durationMs} ms`].filter((fact) => fact !== '')
  return [
    ...(outputText === '' ? [] : [visible(outputText)]),
    ...toolCalls.map(({ name, arguments: args }) => `→ ${visibleLine(name)} ${json(args)}`),
    `  (${facts.join(' · ')})`,
  ].join('\n')
}

/** A script that was played as one model call. */
interface PlayedCall {
  readonly response: ModelResponse
  readonly events: readonly TimedEvent[]
  readonly durationMs: number
}

/** An event, and its time since the start of its call. */
interface TimedEvent {
  readonly at: number
  readonly event: StreamEvent
}

/**
 * Plays scripts on the fake, one model call each, without retries, until one of them fails. Delays take time only with
 * `realTime`.
 *
 * `onEvent` is called with every event. A call that fails before its first event rejects.
 */
export async function* playScripts(
  scripts: readonly Script[],
  realTime: boolean,
  onEvent: (timed: TimedEvent) => void,
): AsyncGenerator<PlayedCall, void> {
  const clock: Clock = realTime ? systemClock : virtualClock()
  let ids = 0
  const newId = (kind: string): string => `${kind}-${++ids}`
  const engine = createEngine({ adapter: fake({ scripts }), clock, newId, retry: false })
  for (const _ of scripts) {
    const start = clock.now()
    const events: TimedEvent[] = []
    for await (const event of streamGenerate(engine, [user('(played by allm-ts run)')])) {
      const timed = { at: clock.now() - start, event }
      events.push(timed)
      onEvent(timed)
    }
    const response = await collect(events.map(({ event }) => event))
    yield { response, events, durationMs: clock.now() - start }
    if (response.error !== undefined) return
  }
}

/** One row of the chart: an activity, and its start and end. */
interface TimelineRow {
  readonly lane: 'model' | 'tool' | 'user' | 'file'
  readonly label: string
  readonly from: number
  /** The time of the model's first event. */
  readonly first?: number
  readonly to: number
}

/** Records what happened when. */
export interface Timeline {
  readonly rows: readonly TimelineRow[]
  /** Starts a run: from now on it waits for its first model call. */
  begin(): void
  note(event: StreamEvent): void
  /** Stops the run: an open model call ends now, as `label`. */
  cut(label: string): void
  /** Adds a row for something that is not an event. */
  mark(lane: TimelineRow['lane'], label: string, from?: number): void
}

/** A timeline by a clock. Times start at its creation. */
export function timeline(clock: Clock): Timeline {
  const zero = clock.now()
  const now = (): number => clock.now() - zero
  const rows: TimelineRow[] = []
  const tools = new Map<string, number>()
  let waitingSince = 0
  let first: number | undefined
  const endCall = (label: string): void => {
    if (first === undefined) return
    rows.push({ lane: 'model', label, from: waitingSince, first, to: now() })
    first = undefined
  }
  const note = (event: StreamEvent): void => {
    if (event.type === 'message_started') first = now()
    else if (event.type === 'message_completed') {
      const calls = event.message.toolCalls ?? []
      endCall(calls.length === 0 ? 'answers' : `calls ${calls.map(({ name }) => name).join(', ')}`)
    } else if (event.type === 'tool_execution_started') tools.set(event.id, now())
    else if (event.type === 'tool_execution_completed') {
      rows.push({ lane: 'tool', label: event.name, from: tools.get(event.id) ?? now(), to: now() })
    } else if (event.type === 'step_completed') waitingSince = now()
    else if (event.type === 'error') endCall('fails')
  }
  return {
    rows,
    note,
    begin: () => (waitingSince = now()),
    cut: endCall,
    mark: (lane, label, from = clock.now()) =>
      rows.push({ lane, label, from: from - zero, to: now() }),
  }
}

/** The rows as a chart that fits into columns: `░` waits for the model's first event, `█` is busy, `◆` is a moment. */
export function timelineChart(
  rows: readonly TimelineRow[],
  columns: number = 80,
): readonly string[] {
  const end = Math.max(1, ...rows.map(({ to }) => to))
  const labels = Math.max(...rows.map(({ label }) => label.length))
  const digits = String(Math.round(end)).length
  // A moment at the end has a column of its own.
  const room = columns - (6 + labels + 1 + (digits + 3) + 1 + (digits + 4) + 2) - 1
  const width = Math.min(Math.max(room, 10), 60)
  const place = (at: number): number => Math.round((at / end) * width)
  return rows.map(({ lane, label, from, first = from, to }) => {
    const bar =
      ' '.repeat(place(from)) +
      '░'.repeat(place(first) - place(from)) +
      (place(to) > place(first) ? '█'.repeat(place(to) - place(first)) : '◆')
    const at = `${number(from, digits)} ms`
    const took = `+${String(Math.round(to - from))} ms`.padStart(digits + 4)
    return `${lane.padEnd(5)} ${label.padEnd(labels)} ${at} ${took}  ${bar}`.trimEnd()
  })
}

function number(value: number, digits: number): string {
  return String(Math.round(value)).padStart(digits)
}
