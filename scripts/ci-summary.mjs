// usage: node scripts/ci-summary.mjs RUNS [EXPECTED_RUN...] [-- BROKEN_STEP...]
//
// RUNS is a text file with a line "NAME EXIT_CODE REPORT" for each run of tests. A report is the JSON of vitest, or
// { passed, failed, skipped }. The last line that is printed has the totals, which CI reads.
// The reports alone are not enough: a file that does not load has no failed test in it, and a run with an unhandled rejection
// reports success. So an exit code that nothing else explains, a run in which nothing passed and nothing was skipped, an
// expected run that is missing, and a broken step each count as one failure.
import { existsSync, readFileSync } from 'node:fs'

const none = { passed: 0, failed: 0, skipped: 0 }

const [path = '', ...rest] = process.argv.slice(2)
const dashes = rest.includes('--') ? rest.indexOf('--') : rest.length
const [expected, broken] = [rest.slice(0, dashes), rest.slice(dashes + 1)]
const runs = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : []
const counted = runs.map((line) => countedRun(line))
const missing = expected.filter((name) => counted.every((run) => run.name !== name))

for (const { name, passed, failed, skipped } of counted) {
  console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`)
}
if (missing.length > 0) console.log(`runs that are missing: ${missing.join(', ')}`)
if (broken.length > 0) console.log(`steps that broke: ${broken.join(', ')}`)

const passed = counted.reduce((sum, run) => sum + run.passed, 0)
const failed = counted.reduce((sum, run) => sum + run.failed, missing.length + broken.length)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

function countedRun(line) {
  const [name, code, ...file] = line.split(' ')
  const report = file.join(' ')
  const counts = existsSync(report) ? countsOf(JSON.parse(readFileSync(report, 'utf8'))) : none
  const isEmpty = counts.passed === 0 && counts.skipped === 0
  const isUnexplained = counts.failed === 0 && (code !== '0' || isEmpty)
  return { name, ...counts, failed: isUnexplained ? 1 : counts.failed }
}

function countsOf(report) {
  if (report.testResults === undefined) return { ...none, ...report }
  const unloadable = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  )
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloadable.length,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}
