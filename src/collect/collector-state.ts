import type { Blocks } from './blocks.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { ModelEvent } from '../types/events.ts'
import type { Message, Thread, ToolCall } from '../types/message.ts'
import type { Usage } from '../types/response.ts'
import type { ChatResult, HaltedReason, StepResult, ToolHalt } from '../types/results.ts'
import type { StoredResult } from '../types/session.ts'

/** A tool call under way: what was streamed of its arguments, or the whole call. */
export interface CallFold {
  readonly id: string
  readonly name: string
  readonly raw: string
  readonly call?: ToolCall
}

/** How a message ended, as its last event said. */
export type MessageEnd = Omit<Extract<ModelEvent, { type: 'message_completed' }>, 'type' | 'usage'>

/**
 * All that a run has said so far, folded. Plain values; make one with `createCollector`, read it with `toResponse`,
 * `toStepResult` and `toChatResult`.
 */
export interface Collector extends Blocks {
  /** The thread that the run started from, with every completed step's messages added. */
  thread: Thread
  /** The number of events folded. */
  count: number
  requestId: string
  provider: string
  id: string | undefined
  model: string | undefined
  usage: Usage
  calls: readonly CallFold[]
  end: MessageEnd | undefined
  error: ErrorData | undefined
  /** A message was started and its step is not completed. */
  active: boolean
  /** The calls of this step whose handlers were started. */
  started: readonly string[]
  /** The results of this step that did not become a message yet. */
  results: readonly StoredResult[]
  /** The tool messages of this step, in the order in which they came. */
  toolMessages: readonly Message[]
  /** What halted in this step, in the order in which it came. */
  halts: readonly ToolHalt[]
  /** What the last completed step asked the user, in the order of its calls. */
  questions: readonly ToolHalt[]
  /** The number of answers that were completed. */
  answers: number
  steps: readonly StepResult[]
  /** Why the loop ends, as its last step said. */
  haltedReason: HaltedReason | undefined
  result: ChatResult | undefined
}

/** The state before the first event of a run that starts from `thread`. */
export function createCollector(thread: Thread = { messages: [], metadata: {} }): Collector {
  return {
    thread,
    count: 0,
    requestId: '',
    provider: '',
    id: undefined,
    model: undefined,
    usage: {},
    parked: none,
    openKind: undefined,
    openIndex: undefined,
    openText: '',
    openAt: -1,
    calls: none,
    end: undefined,
    error: undefined,
    active: false,
    started: none,
    results: none,
    toolMessages: none,
    halts: none,
    questions: none,
    answers: 0,
    steps: none,
    haltedReason: undefined,
    result: undefined,
  }
}

/** Lists in a state are replaced and never changed, so all states share the empty one. */
export const none: readonly never[] = []
