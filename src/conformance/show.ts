import { isAllmError } from '../errors/errors.ts'

/** The longest text that a message quotes. */
const longest = 400

/** A value in a line of a message. Never throws, never long. */
export function show(value: unknown): string {
  const text = textOf(value)
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return value === '' ? 'an empty text' : value
  if (isAllmError(value)) return `${value.name} ${value.reason}: ${value.message}`
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (typeof value === 'function') return `a function ${value.name}`
  try {
    // JSON has nothing for a symbol.
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
