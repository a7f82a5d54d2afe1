#!/usr/bin/env node
// The program of the package. It is committed, unlike dist, because npx links the programs of a folder once: in a clone that was not built
// yet it would link nothing, and never look again.
import { existsSync } from 'node:fs'

const program = new URL('../dist/node/cli.js', import.meta.url)
if (existsSync(program)) await import(program.href)
else {
  console.error(
    'allm-ts: this clone is not built yet; run npm start, which takes some seconds and shows the tour, or npm run build',
  )
  process.exitCode = 2
}
