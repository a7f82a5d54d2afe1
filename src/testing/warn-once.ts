/** Says something on the console, once a process for each topic, also when the package is loaded twice. */
export function warnOnce(topic: string, message: string): void {
  // The flag is a property of the global object, under a symbol that nobody else uses.
  const flags = globalThis as { [flag: symbol]: unknown }
  const flag = Symbol.for(`allm-ts.warned.${topic}`)
  if (flags[flag] === true) return
  flags[flag] = true
  console.warn(`allm-ts: ${message}`)
}
