import { onTelemetry } from '../../core/base/on-telemetry.ts'
import type { TelemetryEvent } from '../../core/base/telemetry.ts'
import { anyFunction, assertValid, flag, optionsOf, type Check } from '../../core/schema/checks.ts'
import { assertNever } from '../../core/types/guards.ts'

/** How events are written. */
export interface ConsoleTelemetryOptions {
  /** A tree for people. Otherwise each event is a line of JSON, for a log. */
  readonly pretty?: boolean | undefined
  /** Also what was sent and what came back: lines of JSON have all of it. `false` by default. */
  readonly content?: boolean | undefined
  /** Takes a line instead of `console.log`. */
  readonly write?: ((line: string) => void) | undefined
}

/**
 * Writes every telemetry event of this process to the console, until the returned function is called.
 *
 * A pretty line begins with the start of the id of its tree, so that runs at the same time can be told apart, and is indented like its span.
 */
export function consoleTelemetry(options: ConsoleTelemetryOptions = {}): () => void {
  assertValid('invalid_options', consoleOptions(options))
  const { pretty = false, content, write = (line) => console.log(line) } = options
  const places = new Map<string, Place>()
  const toLine = (event: TelemetryEvent): string => {
    if (!pretty) return JSON.stringify(event)
    const place = placeOf(event, places)
    const phase = 'phase' in event ? event.phase : undefined
    if (phase === 'start') places.set(event.spanId, place)
    else if (phase !== undefined) places.delete(event.spanId)
    const inner = phase === undefined ? 1 : 0
    return `${place.tree.slice(0, 4)} ${'  '.repeat(place.depth + inner)}${described(event)}`
  }
  return onTelemetry((event) => write(toLine(event)), { content })
}

const consoleOptions = /* @__PURE__ */ optionsOf({
  pretty: flag,
  content: flag,
  write: anyFunction,
} satisfies Readonly<Record<keyof ConsoleTelemetryOptions, Check>>)

/** Where a span is: the id of its tree, and how deep it is in it. */
interface Place {
  readonly tree: string
  readonly depth: number
}

/** The place of a span. One whose parent was not heard of is a tree of its own. */
function placeOf(
  { spanId, parentSpanId = '' }: TelemetryEvent,
  places: ReadonlyMap<string, Place>,
): Place {
  const parent = places.get(parentSpanId)
  const made = parent && { tree: parent.tree, depth: parent.depth + 1 }
  return places.get(spanId) ?? made ?? { tree: spanId, depth: 0 }
}

/** An event in a few words. */
function described(event: TelemetryEvent): string {
  const { name, toolName, provider, model, sessionId } = event
  const who = toolName ?? [provider, model].filter(Boolean).join(' ')
  const title = name === 'step' ? name : `${name} ${name === 'advance' ? sessionId : who}`.trim()
  if (!('phase' in event)) return `${title}: ${happened(event)}`
  if (event.phase === 'start') return event.resumes === undefined ? title : `${title} (resumed)`
  const { durationMs, timeToFirstChunkMs, usage, finishReason, haltedReason, status } = event
  const facts = [
    `${durationMs} ms`,
    timeToFirstChunkMs === undefined ? undefined : `first chunk ${timeToFirstChunkMs} ms`,
    usage?.inputTokens === undefined ? undefined : `${usage.inputTokens} in`,
    usage?.outputTokens === undefined ? undefined : `${usage.outputTokens} out`,
    haltedReason ?? finishReason ?? status,
    event.phase === 'error' ? `${event.error.reason}: ${event.error.message}` : undefined,
  ]
  const known = facts.filter((fact) => fact !== undefined).join(', ')
  return `${event.phase === 'error' ? '✗' : '✓'} ${title} ${known}`
}

/** What happened in a span. */
function happened(event: Exclude<TelemetryEvent, { phase: string }>): string {
  switch (event.name) {
    case 'retry':
      return `${event.error.reason}, attempt ${event.attempt + 1} in ${event.delayMs} ms`
    case 'tool.unsettled':
      return `${event.outcome} ${event.lateByMs} ms after its deadline`
    case 'tool.reconciled': {
      const why = event.error === undefined ? '' : ` (${event.error.message})`
      return `reconciled as ${event.outcome}${why}`
    }
    case 'tool.interrupted':
      return 'answered as interrupted'
    case 'fallback':
    case 'breaker':
    case 'cache':
    case 'guard':
      return event.from === undefined ? event.to : `${event.from} → ${event.to}`
    default:
      return assertNever(event)
  }
}
