/** Runs cases one after the other; prints each failure, then the count, and throws when one failed. */
export async function runCases(cases) {
  let passed = 0
  let failed = 0
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run()
      passed++
    } catch (error) {
      failed++
      console.log(`failed: ${name}\n  ${error?.stack ?? error}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0) throw new Error('not every case has passed')
}
