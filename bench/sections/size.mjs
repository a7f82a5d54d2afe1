import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { gzipSync } from 'node:zlib'
import { contestants, home, node, quick } from '../lib/field.mjs'
import { peer } from '../lib/peer.mjs'
import { ratios, round, summary } from '../lib/statistics.mjs'

export const title = 'Size and start'

export async function measure() {
  const programs = []
  for (const id of contestants) {
    const { contestant } = await import(`../contestants/${id}.mjs`)
    if (contestant.program !== undefined) programs.push({ id, ...contestant })
  }
  const gzip = {}
  const withTools = {}
  for (const { id, program, toolProgram } of programs) {
    gzip[id] = { kb: await bundled(program) }
    if (toolProgram !== undefined) withTools[id] = { kb: await bundled(toolProgram) }
  }
  return {
    '"stream text from OpenAI", minified, gzip, kB': gzip,
    '"chat with a tool", minified, gzip, kB': withTools,
    'cold import, × an empty program': coldImports(programs),
  }
}

/** The size of a program as a browser or an edge function would load it. */
export async function bundled(contents) {
  const { build } = await peer('esbuild')
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: home, loader: 'js' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'silent',
  })
  return round(gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000)
}

function coldImports(programs) {
  // In this folder, so that its packages are found.
  const folder = mkdtempSync(join(home, 'node_modules/.cold-'))
  const start = (file) => {
    const begun = performance.now()
    execFileSync(node, [file], { stdio: 'ignore' })
    return performance.now() - begun
  }
  try {
    const empty = join(folder, 'empty.mjs')
    writeFileSync(empty, '')
    const files = programs.map(({ id, imports }) => {
      const file = join(folder, `${id}.mjs`)
      writeFileSync(file, imports.replaceAll("'./node_modules", "'.."))
      return { id, file, samples: [] }
    })
    const base = []
    for (let turn = 0; turn < (quick ? 3 : 15); turn++) {
      base.push(start(empty))
      for (const { file, samples } of files) samples.push(start(file))
    }
    return Object.fromEntries(
      files.map(({ id, samples }) => [
        id,
        { ratio: ratios(samples, base), ms: summary(samples).median },
      ]),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const cell = ({ kb, ratio }) => (kb === undefined ? `${ratio.median}` : String(kb))
