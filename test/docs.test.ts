import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksOf, docBlocks } from './support/doc-blocks.ts'
import { root } from './support/root.ts'
import { fromSource, printedBy } from './support/snippets.ts'

const folder = join(root, 'test/.snippets/guides')
const blocks = docBlocks().map((block) => ({
  ...block,
  name: block.file?.replace(/\.ts$/, '') ?? block.place.replaceAll(/[^A-Za-z0-9]+/g, '-'),
}))

/** Set up like a user's project, but the entry points are the sources. */
const tsconfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['*.ts'],
}

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { name, code } of blocks) {
    writeFileSync(join(folder, `${name}.ts`), `${fromSource(code, '../../../src')}\nexport {}\n`)
  }
})

describe.skipIf(blocks.length === 0)('the code in the documentation', () => {
  test('compiles in every block', () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const run = spawnSync(process.execPath, [tsc, '-p', folder], { cwd: root, encoding: 'utf8' })
    // The sources are checked by their own projects, with their own flags and platform.
    const problems = run.stdout
      .split('\n')
      .filter((line) => /^(?:error|test\/\.snippets)/.test(line))
    expect(problems).toEqual([])
  })

  test.each(blocks.filter(({ runs }) => runs))(
    '$place prints the output that its comments show',
    async (block) => {
      expect(await printedBy(join(folder, `${block.name}.ts`))).toEqual(block.prints)
    },
  )
})

const pages = ['', 'bench', 'docs', 'docs/bench', 'docs/guides', 'docs/decisions'].flatMap(
  (directory) =>
    readdirSync(join(root, directory))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(directory, name)),
)

test.each(pages)('%s names only files that exist', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const missing = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs|json|md))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, 'src', path)))
  expect(missing).toEqual([])
})

test('a block is found with its place, its tags and its expected output', () => {
  const text = [
    'Words.',
    '```ts',
    "console.log('a') // => a",
    '// => b',
    '```',
    '```sh',
    'npm test',
    '```',
    '- in a list',
    '  ```ts no-run',
    '  await forever()',
    '  ```',
    '```ts file=chat.ts',
    'export const one = 1',
    '```',
  ].join('\n')
  expect(blocksOf('x.md', text)).toEqual([
    {
      place: 'x.md:2',
      code: "console.log('a') // => a\n// => b\n",
      runs: true,
      prints: ['a', 'b'],
    },
    { place: 'x.md:10', code: 'await forever()\n', runs: false, prints: [] },
    {
      place: 'x.md:13',
      code: 'export const one = 1\n',
      runs: true,
      file: 'chat.ts',
      prints: [],
    },
  ])
})
