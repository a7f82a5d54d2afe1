import { createHook } from 'node:async_hooks'

/** How many promises some work makes. They are counted by the runtime, so the figure is exact and does not depend on time. */
export async function promisesOf(work: () => Promise<unknown>): Promise<number> {
  // Promises that are made once, on the first use, are not counted.
  await work()
  let promises = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises++
    },
  })
  hook.enable()
  try {
    await work()
  } finally {
    hook.disable()
  }
  return promises
}
