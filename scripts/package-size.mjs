// Checks that the package, as it would be published, stays within its limits. Needs a build.
// usage: node scripts/package-size.mjs
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

// The modules are in it twice, one by one for bundlers and bundled for Node, and the page of the inspector is 170 KB of it. See docs/decisions/063-package.md.
const limits = { files: 770, bytes: 6_700_000 }

const root = resolve(import.meta.dirname, '..')
const options = {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
  maxBuffer: 2 ** 26,
}
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options),
)

const groups = new Map()
for (const { path, size } of packed.files) {
  const group = groupOf(path)
  const { files = 0, bytes = 0 } = groups.get(group) ?? {}
  groups.set(group, { files: files + 1, bytes: bytes + size })
}
for (const [group, { files, bytes }] of groups) {
  console.log(`${group.padEnd(18)} ${files} files, ${bytes} bytes`)
}

const total = { files: packed.entryCount, bytes: packed.unpackedSize }
for (const [name, limit] of Object.entries(limits)) {
  const isOver = total[name] > limit
  console.log(`${isOver ? 'TOO MANY' : 'ok'} ${name}: ${total[name]} of at most ${limit}`)
  if (isOver) process.exitCode = 1
}

function groupOf(path) {
  if (path.startsWith('dist/node/')) return 'bundled for Node'
  if (!path.startsWith('dist/')) return 'other'
  return `dist, ${/(\.d\.ts|\.js)$/.exec(path)?.[0] ?? 'other'}`
}
