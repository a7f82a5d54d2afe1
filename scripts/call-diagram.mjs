// Prints the diagram of the states of a call, as guide 04 has it, from the table of moves (src/engine/calls/moves.ts).
// usage: node scripts/call-diagram.mjs [--write]     (--write puts it into the guide)
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../', import.meta.url))
const guide = `${root}docs/guides/04-sessions.md`

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ['src/engine/calls/moves.ts'],
  bundle: true,
  format: 'esm',
  write: false,
})
const { callMoves } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
)

/** What moves calls of any state is a sentence below the diagram. */
const general = new Set(['asked_again', 'entered', 'left', 'rewind'])

const causes = new Map()
for (const [cause, moves] of Object.entries(callMoves)) {
  if (general.has(cause)) continue
  for (const [from, places] of Object.entries(moves)) {
    for (const to of places) {
      // An approval that is changed leaves the call where it is.
      if (from === to) continue
      const edge = `${from === 'none' ? '[*]' : from} --> ${to}`
      causes.set(edge, [...(causes.get(edge) ?? []), cause])
    }
  }
}
const lines = Array.from(causes, ([edge, names]) => `  ${edge}: ${names.join(', ')}`)
const diagram = ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n')

if (process.argv.includes('--write')) {
  const text = readFileSync(guide, 'utf8')
  writeFileSync(
    guide,
    text.replace(/```mermaid\nstateDiagram-v2\n[^]*?```/, () => diagram),
  )
}
console.log(diagram)
