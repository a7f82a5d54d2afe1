/** The columns of docs/matrix.md. The name of a case that belongs to one begins with it. */
const columns = ['core', 'provider', 'runs', 'client']

/** Runs the cases in sequence, prints each failure, the cases of each column and then the counts, and throws if one failed. */
export async function runCases(cases) {
  const passed = []
  let failed = 0
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run()
      passed.push(name)
    } catch (error) {
      failed++
      console.log(`failed: ${name}\n  ${error?.stack ?? error}`)
    }
  }
  const inColumn = (column) => passed.filter((name) => name.startsWith(`${column}: `)).length
  console.log(`matrix: ${columns.map((column) => `${column} ${inColumn(column)}`).join(', ')}`)
  console.log(`${passed.length} passed, ${failed} failed`)
  if (failed > 0) throw new Error('some cases failed')
}
