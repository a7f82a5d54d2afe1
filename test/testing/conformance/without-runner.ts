const names = ['unhandledRejection', 'uncaughtException'] as const

/** Does something while the test runner does not hear of unhandled rejections, so that a case alone finds them. */
export async function withoutRunner<T>(act: () => Promise<T>): Promise<T> {
  const silenced = names.map((name) => {
    const listeners = process.listeners(name as 'uncaughtException')
    for (const listener of listeners) process.off(name, listener)
    const quiet = (): void => undefined
    process.on(name, quiet)
    return { name, listeners, quiet }
  })
  try {
    return await act()
  } finally {
    for (const { name, listeners, quiet } of silenced) {
      process.off(name, quiet)
      for (const listener of listeners) process.on(name, listener)
    }
  }
}
