import type { ModelEvent } from '../events/model-event.ts'
import { isAllmError } from '../errors/allm-error.ts'

/** The longest text that a message quotes. */
const longest = 400

/** A value in a line of a message. Never throws, never long. */
export function show(value: unknown): string {
  const text = textOf(value)
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (isAllmError(value)) return `${value.name} ${value.reason}: ${value.message}`
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (typeof value === 'function') return `a function ${value.name}`
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** The events of a stream as a row of their names, runs of the same one counted. */
export function showEvents(events: readonly ModelEvent[]): string {
  const runs: { readonly name: string; count: number }[] = []
  for (const event of events) {
    const name = nameOf(event)
    const last = runs.at(-1)
    if (last?.name === name) last.count++
    else runs.push({ name, count: 1 })
  }
  const names = runs.map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`))
  return names.length === 0 ? 'no events' : names.join(', ')
}

function nameOf(event: ModelEvent): string {
  return event.type === 'error' ? `error (${event.error.kind} ${event.error.reason})` : event.type
}
