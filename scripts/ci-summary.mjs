// usage: node scripts/ci-summary.mjs VITEST_JSON EXIT_CODE [BROKEN_STEP...]
//
// Prints the line that CI counts, last. The JSON of vitest alone is not honest: a file that does not load has no failed test
// in it, and a run with an unhandled rejection says success. A broken step, and an exit code that nothing else explains,
// each count as one failure; a run without a single passed test is a failure too.
import { existsSync, readFileSync } from 'node:fs'

const [path = '', code = '1', ...broken] = process.argv.slice(2)
let passed = 0
let failed = 0
let skipped = 0
if (existsSync(path)) {
  const run = JSON.parse(readFileSync(path, 'utf8'))
  passed = run.numPassedTests
  failed = run.numFailedTests
  skipped = run.numPendingTests + run.numTodoTests
  for (const file of run.testResults) {
    const explained = file.assertionResults.some((test) => test.status === 'failed')
    if (file.status === 'failed' && !explained) failed++
  }
}
if (code !== '0' && failed === 0) failed = 1
failed += broken.length
if (skipped > 0) console.log(`tests that were left out: ${skipped}`)
if (broken.length > 0) console.log(`steps that broke: ${broken.join(', ')}`)
if (passed === 0) console.log('no test has passed')
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
