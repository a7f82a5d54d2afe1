import { onTelemetry } from '../../core/base/on-telemetry.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { describeAttempt } from './describe-error.ts'
import { styleFor, textWidth, visibleLine, type Io } from './io.ts'
import { json } from './narrator.ts'

/** What is waited for: some words, to which the seconds are added, or a function of the seconds. */
type Wait = string | ((seconds: number) => string)

/**
 * A line that says what the program waits for. It is for a person: it is on stderr, appears after a second, and is gone when
 * there is something else to see. Where stderr is not a terminal nothing is written.
 */
export interface Progress {
  /** This is waited for from now on. */
  wait(what: Wait): void
  /** It is still waited for, in other words. */
  reword(what: Wait): void
  /** Makes room for other output. The line comes back after a second. */
  hide(): void
  /** Nothing is waited for any more. */
  done(): void
}

/** The progress line of a terminal. */
export function progressOn(io: Io): Progress {
  const { stderr, env, everySecond = realSeconds } = io
  if (stderr.isTTY !== true || env['TERM'] === 'dumb') return silent
  const style = styleFor(stderr, env)
  let waiting: Wait | undefined
  let seconds = 0
  let isShown = false
  let stop: (() => void) | undefined
  const erase = (): void => {
    if (isShown) stderr.write('\r\u001B[K')
    isShown = false
  }
  const show = (): void => {
    if (waiting === undefined) return
    const words = typeof waiting === 'string' ? `${waiting} (${seconds} s)` : waiting(seconds)
    const line = fit(`… ${visibleLine(words)}`, (stderr.columns || 80) - 1)
    stderr.write(`\r\u001B[K${style.dim(line)}`)
    isShown = true
  }
  const tick = (): void => {
    seconds++
    show()
  }
  const restart = (): void => {
    stop?.()
    stop = waiting === undefined ? undefined : everySecond(tick)
  }
  return {
    wait(what) {
      erase()
      waiting = what
      seconds = 0
      restart()
    },
    reword(what) {
      waiting = what
      if (isShown) show()
    },
    hide() {
      erase()
      restart()
    },
    done() {
      erase()
      waiting = undefined
      restart()
    },
  }
}

const silent: Progress = {
  wait: () => undefined,
  reword: () => undefined,
  hide: () => undefined,
  done: () => undefined,
}

function realSeconds(onSecond: () => void): () => void {
  const timer = setInterval(onSecond, 1000)
  return () => clearInterval(timer)
}

/** A text that fits into columns. */
function fit(text: string, columns: number): string {
  let [used, kept] = [0, '']
  for (const char of text) {
    used += textWidth(char)
    if (used > columns) return kept
    kept += char
  }
  return kept
}

/** Runs some work while a progress line says what is waited for. */
export async function during<T>(io: Io, what: Wait, work: () => Promise<T>): Promise<T> {
  const progress = progressOn(io)
  progress.wait(what)
  try {
    return await work()
  } finally {
    progress.done()
  }
}

/** Tells the progress of a run, by its events and its retries. */
export interface RunProgress {
  note(event: StreamEvent): void
  /** The run is over. */
  end(): void
}

/** Follows a run of `partner` that starts now. One run of this process is followed at a time. */
export function runProgress(progress: Progress, partner: string, env: Io['env']): RunProgress {
  const running = new Map<string, string>()
  const model = (): void => progress.wait(`waiting for ${partner}`)
  const off =
    progress === silent
      ? () => undefined
      : onTelemetry((event) => {
          if (event.name !== 'retry') return
          const { attempt, delayMs, error } = event
          const total = Math.ceil(delayMs / 1000)
          progress.wait((seconds) => {
            const left = total - seconds
            const next =
              left > 0 ? `attempt ${attempt + 1} in ${left} s` : `attempt ${attempt + 1} is made`
            return `${describeAttempt(error, env)}; ${next}`
          })
        })
  const tools = (): void => {
    if (running.size === 0) model()
    else progress.wait(`${Array.from(running.values()).join(', ')} at work`)
  }
  const note = (event: StreamEvent): void => {
    if (event.type === 'text_delta' || event.type === 'reasoning_delta') progress.done()
    else if (event.type === 'tool_call_started') progress.wait(`${partner} calls ${event.name}`)
    else if (event.type === 'tool_execution_started') {
      running.set(event.id, event.name)
      tools()
    } else if (event.type === 'tool_progress' && event.inner === undefined) {
      progress.reword(`${event.name}: ${json(event.data)}`)
    } else if (event.type === 'tool_execution_completed') {
      running.delete(event.id)
      tools()
    } else if (event.type === 'step_completed') model()
    else if (event.type === 'error' || event.type === 'chat_completed') progress.done()
  }
  model()
  return {
    note,
    end() {
      off()
      progress.done()
    },
  }
}
