import { applyFault } from './apply-fault.ts'
import type { Fault } from './faults.ts'
import { prepareAnswer, type PreparedAnswer } from './prepared-answer.ts'
import type { TakenScript } from './script-source.ts'
import type { Script } from '../testing/script.ts'
import { rechunk } from '../wire/chunking.ts'
import { renderWire } from '../wire/render-wire.ts'
import type { WireAnswer, WireChunking, WireFormat } from '../wire/wire-answer.ts'

/** What a request asks of its answer. */
export interface ChatAsk {
  readonly format: WireFormat
  readonly stream: boolean
  readonly framing: 'sse' | 'json_array'
  readonly includeUsage: boolean
  readonly model: string
  readonly requestId: string
}

/** Renders scripts, each once for every way in which it is asked for. */
export interface ChatAnswers {
  answer(taken: TakenScript, ask: ChatAsk, fault: Fault | undefined): PreparedAnswer
}

/** A client that asks for ever new models must not fill the memory. */
const maxKept = 4096

/** Makes a renderer that keeps what it has rendered. Answers with a fault, and refusals, are made anew. */
export function chatAnswers(chunking: WireChunking | undefined): ChatAnswers {
  const kept = new Map<string, PreparedAnswer>()
  const places = new WeakMap<Script, number>()
  return {
    answer({ script, index }, ask, fault) {
      const { format, stream, framing, includeUsage, model } = ask
      // A script that stands in many places is rendered once, with the ids of the first.
      const place = places.get(script) ?? index
      places.set(script, place)
      const taken = { script, index: place }
      const key = `${place} ${format} ${stream} ${framing} ${includeUsage} ${model}`
      const known = fault === undefined ? kept.get(key) : undefined
      if (known !== undefined) return known
      const answer = applyFault(render(taken, ask), fault)
      const frames = chunking === undefined ? answer.frames : rechunk(answer.frames, chunking)
      const prepared = prepareAnswer({ ...answer, frames }, chunking !== undefined)
      if (fault !== undefined || answer.status !== 200) return prepared
      if (kept.size >= maxKept) kept.clear()
      kept.set(key, prepared)
      return prepared
    },
  }
}

function render({ script, index }: TakenScript, ask: ChatAsk): WireAnswer {
  const { format, ...options } = ask
  return renderWire(format, script, { ...options, id: String(index + 1) })
}
