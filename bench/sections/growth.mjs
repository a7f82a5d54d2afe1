import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { home, quick } from '../lib/field.mjs'
import { tables } from '../lib/growth-tables.mjs'

export const title = 'How the cost of one unit grows (ours), µs'

const run = promisify(execFile)

/** Each table is measured by a process of its own, on the Node that runs this script: its database drivers are built for it. */
export async function measure() {
  const figures = {}
  for (const table of Object.keys(tables)) {
    const script = join(home, 'lib/growth.mjs')
    const { stdout, stderr } = await run(process.execPath, [script, table, quick ? 'quick' : ''])
    if (stderr !== '') console.error(stderr.trimEnd())
    for (const [series, row] of Object.entries(JSON.parse(stdout))) {
      figures[`${table}: ${series}`] = row
    }
  }
  return figures
}

export const cell = ({ median }) => String(median)
