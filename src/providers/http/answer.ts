import type { AnswerForms } from '../../core/answer/answer-text.ts'
import { eventGate } from '../../core/answer/gate.ts'
import type { MessageSink } from '../../core/answer/message-builder.ts'
import { randomId, type NewId } from '../../core/base/ids.ts'
import type { AdapterOptions } from '../../core/contracts/adapter.ts'
import type { AllmError } from '../../core/errors/errors.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import type { Written } from '../../core/types/guards.ts'
import type { Message } from '../../core/types/message.ts'
import type { Warning } from '../../core/types/warning.ts'

/**
 * One call and the answer to it, as far as every adapter knows them: the options of the call, and what its request was.
 *
 * Spread the options that `stream` was given into it (`{ ...options, provider, … }`): the signal, the clock, the timeouts, the id of
 * the run and all others are honoured then.
 */
export interface AnsweredCall extends AdapterOptions {
  readonly provider: string
  /** The messages of the request: a call of the answer gets an id that none of theirs has. */
  readonly history?: readonly Message[] | undefined
  /** The settings of the request that could not be sent. */
  readonly warnings?: readonly Warning[] | undefined
  /** The forms in which the schemas of the request were sent. */
  readonly forms?: AnswerForms | undefined
  /** What must not leave the call, such as the adapter's own key. `apiKey` is secret too. */
  readonly secrets?: readonly string[] | undefined
}

/** What a decoder, or a model in the process, is given: where its events go, and what is known of the call. */
export interface CallSink extends MessageSink {
  /** Makes an id, for a call to which the provider gave none: `newId('call')`. */
  readonly newId: NewId
  readonly rawChunks: boolean
  /** Aborted when the call is stopped, has timed out, or its consumer has left. */
  readonly signal: AbortSignal
  /** The headers of the response; none for a model in the process. */
  readonly headers: Headers
  /** Removes the secrets of the call from a text. */
  readonly clean: (text: string) => string
}

/** An answer under way: what was emitted, checked and cut into batches. */
export interface OpenAnswer {
  readonly sink: CallSink
  /** Whether `message_completed` was emitted. Nothing after it counts. */
  readonly done: boolean
  /** The events since the last call of `take`, checked by the gate. */
  take(): readonly ModelEvent[]
  /** Why the answer ends with the events that `take` returned, if it does. */
  readonly problem: AllmError | undefined
}

/**
 * Opens the answer to a call. Every event passes the gate, so that an adapter that is called directly is as safe as one
 * behind an engine, which has such a gate for every adapter.
 */
export function openAnswer(
  call: AnsweredCall & { readonly requestId: string },
  rest: Pick<CallSink, 'signal' | 'headers' | 'clean'>,
): OpenAnswer {
  const { provider, requestId, history, maxResponseBytes, warnings, forms } = call
  const newId = call.newId ?? randomId
  const gate = eventGate({ provider, requestId, newId, history, maxResponseBytes })
  let events: ModelEvent[] = []
  const answer: Written<OpenAnswer> = {
    sink: {
      provider,
      requestId,
      newId,
      warnings,
      forms,
      rawChunks: call.includeRawChunks === true,
      ...rest,
      emit(event) {
        events.push(event)
        if (event.type === 'message_completed') answer.done = true
      },
    },
    done: false,
    problem: undefined,
    take() {
      const batch = events
      events = []
      if (batch.length === 0) return batch
      const settled = gate.settle(batch)
      answer.problem = gate.problem
      return settled
    },
  }
  return answer
}

/** A call with the id of its run. */
export function identified<Call extends AnsweredCall>(
  call: Call,
): Call & { readonly requestId: string } {
  return { ...call, requestId: call.requestId ?? (call.newId ?? randomId)('request') }
}

/** An error that names the provider and the run, also when the code that threw it did not. */
export function attributed<E extends AllmError>(
  error: E,
  { provider, requestId }: Pick<AnsweredCall, 'provider' | 'requestId'>,
): E {
  if ('provider' in error) Object.assign(error, { provider: error.provider ?? provider })
  return Object.assign(error, { requestId: error.requestId ?? requestId })
}
