import { printable, redactThrown } from '../errors/redact.ts'
import { thrownText } from '../errors/to-json-value.ts'

/** The parts of the runtimes that report an error without stopping anything. */
interface Host {
  readonly process?: { emitWarning?(text: string, options: { readonly type: string }): void }
  reportError?(error: unknown): void
}

/** Says a text without keys as a warning of the process (`AllmWarning`), or reports the error to the page. */
export function warn(text: string, error: unknown): void {
  // Not every runtime has both, so their types are not used here.
  const host = globalThis as Host
  if (host.process?.emitWarning !== undefined)
    host.process.emitWarning(text, { type: 'AllmWarning' })
  else host.reportError?.(error)
}

/** Takes the place of an `onError` that is not given: it warns of the first error. */
export function warnOnce(what: string): (error: unknown) => void {
  let isWarned = false
  return (error) => {
    if (isWarned) return
    isWarned = true
    const text = printable(redactThrown(thrownText(error)))
    warn(`${what} (later errors are not shown): ${text}`, error)
  }
}

/**
 * Warns that a name is deprecated and what to use in its place: once in a process, even if the package is loaded twice. It is a
 * `DeprecationWarning` of the process, or on the console where there is none.
 */
export function warnDeprecated(name: string, instead: string): void {
  // The flag is a property of the global object, under a symbol of this library.
  const host = globalThis as Host & { [flag: symbol]: unknown }
  const flag = Symbol.for(`allm-ts.warned.${name}`)
  if (host[flag] === true) return
  host[flag] = true
  const text = `allm-ts: ${name} is deprecated; use ${instead}`
  if (host.process?.emitWarning === undefined) console.warn(text)
  else host.process.emitWarning(text, { type: 'DeprecationWarning' })
}
