/** A member as a text; what is none says nothing. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A member as a text that says something. */
export function someText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
