import type { AdapterOptions } from '../contracts/adapter.ts'
import type { CompiledScript, Section, Started } from './compiled-script.ts'
import type { ModelEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'

/** What differs between two calls of the same script. */
export interface CallFacts {
  readonly requestId: string
  readonly provider: string
  readonly model: string | undefined
}

/** The sections that a call plays: with raw chunks only if it asks for them. */
export function sectionsFor(script: CompiledScript, options: AdapterOptions): readonly Section[] {
  return options.includeRawChunks === true ? script.rawSections : script.sections
}

/** The events of a section, with the call's own facts filled in. A section that has none is shared by all calls. */
export function renderSection(
  script: CompiledScript,
  sections: readonly Section[],
  index: number,
  call: CallFacts,
): readonly ModelEvent[] {
  const events = sections[index]?.events ?? []
  const failsHere = script.fails && index === sections.length - 1
  if (index > 0 && !failsHere) return events
  // A spread is twenty times as fast as the `slice` of a frozen list.
  const own = [...events]
  if (index === 0) own[0] = startedEvent(script, call)
  const last = failsHere ? own.at(-1) : undefined
  if (last !== undefined) own[own.length - 1] = withRequestId(last, requestIdOf(script, call))
  return own
}

function startedEvent(script: CompiledScript, call: CallFacts): Started {
  const { started } = script
  const requestId = requestIdOf(script, call)
  const provider = started.provider ?? call.provider
  const model = started.model ?? call.model
  // Written out: it is made for every call.
  if (started.id !== undefined) {
    return defined<Started>({ type: 'message_started', requestId, provider, id: started.id, model })
  }
  return model === undefined
    ? { type: 'message_started', requestId, provider }
    : { type: 'message_started', requestId, provider, model }
}

function requestIdOf(script: CompiledScript, call: CallFacts): string {
  return script.started.requestId ?? call.requestId
}

function withRequestId(event: ModelEvent, requestId: string): ModelEvent {
  if (event.type !== 'error') return event
  return { type: 'error', error: { ...event.error, requestId: event.error.requestId ?? requestId } }
}
