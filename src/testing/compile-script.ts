import { addEntry, endScript } from './add-entry.ts'
import type { CompiledScript, Section, StartedFacts } from './compiled-script.ts'
import { plainCopy } from './plain-copy.ts'
import { responseEvents } from './response-events.ts'
import { newDraft, toBeFilledIn } from './script-draft.ts'
import type { Script } from './script-entry.ts'
import type { ModelEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { ModelResponse, Usage } from '../types/response.ts'

/** What a script is compiled for. */
export interface CompileOptions {
  readonly provider: string
  /** Takes the place of whatever usage the script has. */
  readonly usage?: Usage | undefined
}

/** Prepares a script that was validated, once, for any number of calls. */
export function compileScript(script: Script, options: CompileOptions): CompiledScript {
  const first = script[0]
  if (first?.[0] === 'preflight_error' || (first?.[0] === 'error' && first.length === 3)) {
    return { preflight: plainCopy(first), started: {}, sections: [], rawSections: [], fails: true }
  }
  if (first?.[0] === 'ok') return compileResponse(first[1], options)
  const draft = newDraft(options.provider, options.usage)
  for (const entry of script) {
    addEntry(draft, entry)
    if (draft.ended) break
  }
  if (!draft.ended) endScript(draft)
  return compiled(draft.sections, {})
}

function compileResponse(
  response: Partial<ModelResponse>,
  options: CompileOptions,
): CompiledScript {
  const { requestId, provider, id, model } = response
  const usage = options.usage ?? response.usage
  const events = responseEvents(defined<Partial<ModelResponse>>({ ...response, usage }))
  const started = defined<StartedFacts>({ requestId, provider, id, model })
  return compiled([{ delayMs: 0, events: [toBeFilledIn, ...events] }], started)
}

function compiled(draft: readonly Section[], started: StartedFacts): CompiledScript {
  const rawSections = plainCopy(draft)
  return {
    started,
    sections: withoutRawChunks(rawSections),
    rawSections,
    fails: rawSections.at(-1)?.events.at(-1)?.type === 'error',
  }
}

/** A section of nothing but raw chunks would be an empty batch, so its wait goes to the next one. */
function withoutRawChunks(sections: readonly Section[]): readonly Section[] {
  if (!sections.some(({ events }) => events.some(isRawChunk))) return sections
  const result: Section[] = []
  let waited = 0
  for (const { delayMs, events } of sections) {
    const rest = events.filter((event) => !isRawChunk(event))
    waited += delayMs
    if (rest.length === 0) continue
    result.push({ delayMs: waited, events: Object.freeze(rest) })
    waited = 0
  }
  return result
}

function isRawChunk(event: ModelEvent): boolean {
  return event.type === 'raw_chunk'
}
