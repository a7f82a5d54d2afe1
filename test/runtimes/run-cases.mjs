/** Runs the cases in sequence, prints each failure and then the counts, and throws if one failed. */
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
  if (failed > 0) throw new Error('some cases failed')
}
