import { describeFailure } from './describe-error.ts'
import { json } from './event-facts.ts'
import type { Io } from './io.ts'
import type { Style } from './style.ts'
import type { StreamEvent } from '../types/events.ts'

/** Tells a run's events to people, as they come. */
export interface Narrator {
  show(event: StreamEvent): void
  /** Ends a line that text has left open. */
  endLine(): void
}

/** Where a narrator writes, and how. */
export interface NarratorOptions {
  readonly write: (text: string) => void
  readonly style: Style
  readonly env: Io['env']
  /** Stands before the model's words. */
  readonly lead?: string
}

/** Makes a narrator. Text is written piece by piece; tools, questions and failures get lines of their own. */
export function narrator({ write, style, env, lead = '' }: NarratorOptions): Narrator {
  let open: 'text' | 'reasoning' | undefined
  const endLine = (): void => {
    if (open !== undefined) write('\n')
    open = undefined
  }
  const piece = (kind: 'text' | 'reasoning', text: string): void => {
    if (open !== kind) {
      endLine()
      write(kind === 'text' ? lead : style.dim(`${lead}(thinks) `))
      open = kind
    }
    write(kind === 'text' ? text : style.dim(text))
  }
  const line = (text: string): void => {
    endLine()
    write(`${text}\n`)
  }
  const show = (event: StreamEvent): void => {
    if (event.type === 'text_delta') piece('text', event.delta)
    else if (event.type === 'reasoning_delta') piece('reasoning', event.delta)
    else if (event.type === 'message_completed') endLine()
    else if (event.type === 'image_completed') line(`  ${style.dim('[an image]')}`)
    else if (event.type === 'tool_execution_started') {
      line(style.dim(`  · ${event.name} ${json(event.arguments)}`))
    } else if (event.type === 'tool_execution_completed') {
      const told = toolLine(event, style)
      if (told !== undefined) line(told)
    } else if (event.type === 'error') line(failureLine(event.error, style, env))
  }
  return { show, endLine }
}

type ToolCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

/** A tool that asks has nothing to show: the question comes by itself. */
function toolLine(event: ToolCompleted, style: Style): string | undefined {
  const { name, durationMs, result, outcome } = event
  if (outcome?.type === 'ask_user') return undefined
  const time = style.dim(`${Math.round(durationMs)} ms`)
  return 'ok' in result
    ? `  ${style.good('✓')} ${name} ${time} ${style.dim(`→ ${json(result.ok)}`)}`
    : `  ${style.bad('✗')} ${name} ${time} ${result.error.message}`
}

type Failure = Extract<StreamEvent, { type: 'error' }>['error']

function failureLine(error: Failure, style: Style, env: Io['env']): string {
  if (error.kind === 'stream' && error.reason === 'cancelled') {
    return style.dim('  (stopped; what was said is kept)')
  }
  return `${style.bad('!')} ${describeFailure(error, env)}`
}
