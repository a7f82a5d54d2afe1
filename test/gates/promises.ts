import { createHook } from 'node:async_hooks'

/** How many promises some work makes: counted by the runtime, so the figure is exact and no clock is in it. */
export async function promisesOf(work: () => Promise<unknown>): Promise<number> {
  // What is made once, on the first use, is not counted.
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
