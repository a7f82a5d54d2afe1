import { notedReason } from '../../core/answer/fold-answer.ts'
import { innerEvent, type StreamEvent } from '../../core/types/events.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { Image } from '../../core/types/media.ts'
import type { Message } from '../../core/types/message.ts'
import type { Usage } from '../../core/types/response.ts'
import { finishWords } from '../inspector/finish-words.ts'
import { describeFailure } from './describe-error.ts'
import { textWidth, visible, visibleLine, type Io, type Style } from './io.ts'

/** Shows the events of a run to a person. */
interface Narrator {
  show(event: StreamEvent): void
  /** Ends the current line, if text is on it, with a mark behind the text. */
  endLine(mark?: string): void
}

/** Where a narrator writes, and how. */
interface NarratorOptions {
  readonly write: (text: string) => void
  readonly style: Style
  readonly env: Io['env']
  /** Text before the first line of each text of the model. Its other lines begin with as many spaces. */
  readonly lead?: string
  /** The columns of the terminal. Text is broken between words to fit into them; without them it is written as it is. */
  readonly columns?: (() => number | undefined) | undefined
  /** Keeps an image somewhere, and returns in a few words where. */
  readonly keepImage?: ((image: Image) => string) | undefined
}

/** Creates a narrator. Text is written delta by delta; tools, questions and failures get separate lines. */
export function narrator({
  write,
  style,
  env,
  lead = '',
  columns = () => undefined,
  keepImage = imageWords,
}: NarratorOptions): Narrator {
  let open: 'text' | 'reasoning' | undefined
  /** The name of the engine that answers. */
  let speaker: string | undefined
  const writeText = (text: string): void => {
    if (text !== '') write(open === 'reasoning' ? style.dim(text) : text)
  }
  const lines = wordWrap(columns, lead.length)
  const endLine = (mark: string = ''): void => {
    writeText(lines.add(mark) + lines.end())
    if (open !== undefined) write('\n')
    open = undefined
  }
  const piece = (kind: 'text' | 'reasoning', text: string): void => {
    if (open !== kind) {
      endLine()
      open = kind
      writeText(lines.add(kind === 'text' ? lead : `${lead}(thinks) `))
    }
    writeText(lines.add(visible(text)))
  }
  const line = (text: string): void => {
    endLine()
    write(`${text}\n`)
  }
  const lineOf = <Fact>(fact: Fact | undefined, words: (fact: Fact) => string): void => {
    if (fact !== undefined) line(style.dim(words(fact)))
  }
  const show = (event: StreamEvent): void => {
    switch (event.type) {
      case 'text_delta':
        return piece('text', event.delta)
      case 'reasoning_delta':
        return piece('reasoning', event.delta)
      case 'message_completed':
        endLine()
        for (const text of sourceLines(event.message)) line(style.dim(`  ${text}`))
        return lineOf(notedReason(event), (reason) => `  (${finishWords[reason]})`)
      case 'image_completed':
        return line(`  ${style.dim('[image]')} ${visibleLine(keepImage(event.image))}`)
      case 'tool_execution_started':
        return line(style.dim(`  · ${visibleLine(event.name)} ${json(event.arguments)}`))
      case 'tool_execution_completed': {
        const text = toolLine(event, style)
        return text === undefined ? undefined : line(text)
      }
      case 'error':
        return line(failureLine(event.error, style, env))
      case 'reasoning_completed':
        return event.item === undefined
          ? undefined
          : line(style.dim(`  · ${json(event.item['type'] ?? event.item)}`))
      case 'tool_call_started':
        // The arguments are not shown before they are complete.
        return endLine()
      case 'tool_result_encoded':
        for (const part of typeof event.content === 'string' ? [] : event.content) {
          if (part.type !== 'image') continue
          line(`  ${style.dim('[image of a tool]')} ${visibleLine(keepImage(part.image))}`)
        }
        return undefined
      case 'message_started': {
        const isOther = event.agent !== speaker
        speaker = event.agent
        return lineOf(isOther ? speaker : undefined, (name) => `${visibleLine(name)}:`)
      }
      case 'text_completed':
      case 'tool_call_delta':
      case 'tool_call_completed':
      case 'raw_chunk':
      case 'ask_user_requested':
      case 'approval_requested':
      case 'tool_halt':
      case 'step_completed':
      case 'chat_completed':
        return undefined
      case 'tool_progress': {
        // Of the agent inside a call only its tools are told.
        const text = innerLine(event)
        return text === undefined ? undefined : line(style.dim(`  · ${text}`))
      }
      default:
        return assertNever(event)
    }
  }
  return { show, endLine }
}

/** Breaks a text that arrives in pieces into lines. */
interface WordWrap {
  /** What can be written of the text so far. */
  readonly add: (text: string) => string
  /** The rest. The next text begins a line. */
  readonly end: () => string
}

/** A word that is longer may be broken by the terminal: scripts without spaces have no end of a word to wait for. */
const longestWord = 16

/** Only a word that may not fit into its line is held back until it ends. */
function wordWrap(columns: () => number | undefined, indent: number): WordWrap {
  let column = 0
  /** What is held back: spaces, and the word behind them. */
  let [space, word] = ['', '']
  /** The beginning of the word was written. */
  let isOpen = false
  const place = (width: number): string => {
    const isOver = column + textWidth(space + word) > width && column > indent && word !== ''
    const text = isOver ? `\n${' '.repeat(indent)}${word}` : space + word
    const end = (isOver ? indent : column + textWidth(space)) + textWidth(word)
    column = end > width ? end % width : end
    ;[space, word] = ['', '']
    return text
  }
  const addWord = (part: string, width: number): string => {
    word += part
    const end = isOpen ? 0 : column + textWidth(space) + longestWord
    if (end > width && word.length <= longestWord) return ''
    isOpen = true
    return place(width)
  }
  return {
    add(text) {
      const width = columns()
      if (width === undefined) return text
      let done = ''
      for (const part of text.match(/\n|[^\S\n]+|\S+/g) ?? []) {
        if (/\S/.test(part)) {
          done += addWord(part, width)
          continue
        }
        done += place(width)
        isOpen = false
        if (part !== '\n') space = part
        else {
          done += part
          column = 0
        }
      }
      return done
    },
    end() {
      const rest = place(columns() ?? Number.POSITIVE_INFINITY)
      column = 0
      isOpen = false
      return rest
    },
  }
}

/** The tool that an agent inside a call has started, with the names of the agents that it is in. */
function innerLine(event: StreamEvent): string | undefined {
  const inner = innerEvent(event)
  if (inner === undefined || event.type !== 'tool_progress') return undefined
  const text =
    inner.type === 'tool_execution_started'
      ? `${visibleLine(inner.name)} ${json(inner.arguments)}`
      : innerLine(inner)
  return text === undefined ? undefined : `${visibleLine(event.name)} › ${text}`
}

/** The sources that a message cites, one line for each page or document. */
export function sourceLines({ sources = [] }: Message): readonly string[] {
  const named = sources.map(
    ({ url, title, text }) =>
      [title, url].filter((fact) => fact !== undefined && fact !== '').join(' ') ||
      json(text ?? ''),
  )
  return Array.from(new Set(named), (name, index) => `[${index + 1}] ${visibleLine(name)}`)
}

/** Where an image is, if it has an address. */
export function imageWords(image: Image): string {
  if (image.type === 'url') return image.url
  return image.type === 'id' ? `${image.id} at ${image.provider}` : image.mimeType
}

type ToolCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

/** A tool that asks the user has no line: the question is shown instead. */
function toolLine(event: ToolCompleted, style: Style): string | undefined {
  const { durationMs, result, outcome } = event
  const name = visibleLine(event.name)
  if (outcome?.type === 'ask_user') return undefined
  const time = style.dim(`${Math.round(durationMs)} ms`)
  return 'ok' in result
    ? `  ${style.good('✓')} ${name} ${time} ${style.dim(`→ ${json(result.ok)}`)}`
    : `  ${style.bad('✗')} ${name} ${time} ${visibleLine(result.error.message)}`
}

type Failure = Extract<StreamEvent, { type: 'error' }>['error']

function failureLine(error: Failure, style: Style, env: Io['env']): string {
  if (error.kind === 'stream' && error.reason === 'cancelled') {
    return style.dim('  (stopped; the text so far is kept)')
  }
  return `${style.bad('!')} ${describeFailure(error, env)}`
}

/** The content of an event, in a few words of one line. */
export function eventFacts(event: StreamEvent): string {
  switch (event.type) {
    case 'message_started':
      return [event.agent, event.provider, event.model, event.id]
        .filter((fact) => fact !== undefined)
        .join(' ')
    case 'text_delta':
    case 'reasoning_delta':
      return json(event.delta)
    case 'text_completed':
      return json(event.text)
    case 'reasoning_completed':
      return json(event.item ?? event.text)
    case 'tool_call_started':
      return `${event.name} ${event.id}`
    case 'tool_call_delta':
      return `${event.id} ${json(event.argumentsDelta)}`
    case 'tool_call_completed':
      return `${event.call.name} ${event.call.id} ${json(event.call.arguments)}`
    case 'image_completed':
      return event.image.type
    case 'raw_chunk':
      return json(event.chunk)
    case 'message_completed':
      return [event.finishReason, usageFacts(event.usage ?? {})]
        .filter((fact) => fact !== '')
        .join(' · ')
    case 'error':
      return `${event.error.reason}: ${event.error.message}`
    case 'tool_execution_started':
      return `${event.name} ${json(event.arguments)}`
    case 'tool_execution_completed':
      return `${event.name} ${event.durationMs} ms ${json(event.result)}`
    case 'tool_result_encoded':
      return `${event.id} ${json(event.content)}`
    case 'ask_user_requested':
      return json(event.question)
    case 'approval_requested':
      return `${event.toolName} ${json(event.call.arguments)}`
    case 'tool_progress': {
      const inner = innerEvent(event)
      if (inner !== undefined) return `${event.name} › ${inner.type} ${eventFacts(inner)}`
      return event.inner === 'session'
        ? `${event.name} › begins`
        : `${event.name} ${json(event.data)}`
    }
    case 'tool_halt':
      return `${event.reason} ${json(event.result)}`
    case 'step_completed':
      return `${event.newMessages.length} messages added`
    case 'chat_completed':
      return event.result.haltedReason
    default:
      return assertNever(event)
  }
}

/** The reported tokens, or an empty text. */
export function usageFacts({ inputTokens, outputTokens }: Usage): string {
  const facts = [
    inputTokens === undefined ? '' : `${inputTokens} in`,
    outputTokens === undefined ? '' : `${outputTokens} out`,
  ].filter((fact) => fact !== '')
  return facts.length === 0 ? '' : `${facts.join(', ')} tokens`
}

/** A value as JSON, truncated to fit a line. */
export function json(value: unknown, limit: number = 72): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
