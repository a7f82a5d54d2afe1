// Measures how long Node takes to import the package as it would be published, compared to an empty program: the oldest Node and Node 24,
// the programs in turns, the median of the ratios of each turn, and the ratio of the fastest starts, which a busy machine disturbs less.
// Needs a build. No gate: a clock of a shared machine is none.
// usage: node scripts/cold-import.mjs [ROUNDS]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchedBinary, installThisPackage, node24, nodes } from './fetching.mjs'

const rounds = Number(process.argv[2] ?? 21)
const programs = {
  empty: '',
  'allm-ts': "import 'allm-ts'",
  'allm-ts and allm-ts/openai': "import 'allm-ts'; import 'allm-ts/openai'",
}

const work = mkdtempSync(join(tmpdir(), 'allm-cold-'))
try {
  await installThisPackage(work)
  const files = Object.entries(programs).map(([name, text], index) => {
    const file = join(work, `${index}.mjs`)
    writeFileSync(file, text)
    return { name, file }
  })
  for (const node of [nodes[0], node24]) {
    const { path, problem } = await fetchedBinary(node)
    if (problem === undefined) measure(node.name, path, files)
    else console.log(`SKIPPED ${node.name}: ${problem}`)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}

function measure(name, node, files) {
  const times = files.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, { file }] of files.entries()) times[index].push(start(node, file))
  }
  const [empty, ...others] = times
  console.log(`${name}: an empty program takes ${median(empty).toFixed(1)} ms`)
  for (const [index, samples] of others.entries()) {
    const ratio = median(samples.map((time, round) => time / empty[round]))
    const fastest = Math.min(...samples) / Math.min(...empty)
    const more = median(samples.map((time, round) => time - empty[round]))
    console.log(
      `  ${files[index + 1].name}: ${ratio.toFixed(2)} times that, ${more.toFixed(1)} ms more (the fastest starts: ${fastest.toFixed(2)})`,
    )
  }
}

function start(node, file) {
  const begun = performance.now()
  const { status } = spawnSync(node, [file], { stdio: 'ignore' })
  if (status !== 0) throw new Error(`${file} failed`)
  return performance.now() - begun
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]
}
