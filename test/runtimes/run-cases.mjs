/** Cases that let minutes of virtual time pass, in thousands of turns of the event loop. */
const slow = [
  'what makes no event ends a silence too',
  'onActivity is called for what makes no event',
  'the first event comes with the first content',
  'the handshake of the provider does not end requestTimeoutMs',
]

/** A turn of the event loop takes milliseconds in workerd, so each of these cases would take minutes. */
const hasFastTurns = globalThis.navigator?.userAgent !== 'Cloudflare-Workers'

/** Runs the cases in sequence, prints each failure and then the counts, and throws if one failed. */
export async function runCases(cases) {
  let passed = 0
  let failed = 0
  for (const [name, run] of Object.entries(cases)) {
    if (slow.some((words) => name.endsWith(words)) && !hasFastTurns) {
      console.log(`skipped, a turn of the event loop takes too long here: ${name}`)
      continue
    }
    try {
      await run()
      passed++
    } catch (error) {
      failed++
      console.log(`failed: ${name}\n  ${error?.stack ?? error}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0) throw new Error('some cases failed')
}
