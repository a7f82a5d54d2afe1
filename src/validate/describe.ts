/** A value in a few words, for a problem's text: strings and numbers as they are, anything else by its kind. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 48 ? `${value.slice(0, 48)}…` : value)
  }
  if (typeof value === 'object' && value !== null) return describeObject(value)
  const word = typeof value
  return word === 'function' || word === 'symbol' || word === 'bigint' ? `a ${word}` : String(value)
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return 'an object'
  const { name } = value.constructor
  return name === '' ? 'a class instance' : `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}
