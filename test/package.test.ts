import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Platform } from 'esbuild'
import { expect, test, vi } from 'vitest'
import type * as sourceRuns from '../src/runs.ts'
import type * as sourceStores from '../src/stores.ts'
import { root } from './support/root.ts'

test.each<readonly [Platform]>([['node'], ['browser']])(
  'a bundler for %s gets the modules one by one, so that it can leave some out',
  async (platform) => {
    const { metafile } = await build({
      stdin: { contents: `export { user } from 'allm-ts'`, resolveDir: root },
      absWorkingDir: root,
      platform,
      bundle: true,
      format: 'esm',
      write: false,
      metafile: true,
    })
    const inputs = Object.keys(metafile.inputs)
    expect(inputs).toContain('dist/index.js')
    expect(inputs.filter((name) => name.startsWith('dist/node/'))).toEqual([])
  },
)

test('Node itself gets one file for each entry point, and what they share', () => {
  expect(import.meta.resolve('allm-ts')).toMatch(/\/dist\/node\/index\.js$/)
})

/** The files that Node loads with one of them, itself included. */
function loaded(name: string, found: Set<string> = new Set()): Set<string> {
  found.add(name)
  const text = readFileSync(join(root, 'dist/node', name), 'utf8')
  for (const [, next = ''] of text.matchAll(/^(?:import|export) .*from "\.\/([^"]+)";$/gm)) {
    if (!found.has(next)) loaded(next, found)
  }
  return found
}

test.each([
  ['index.js', 2],
  ['openai.js', 3],
  // One is the code of its platforms, which the words load too.
  ['anthropic.js', 4],
  ['gemini.js', 3],
  ['client.js', 1],
  ['runs.js', 4],
  ['stores.js', 4],
  ['testing.js', 3],
])('Node loads for %s at most %i files, and code of platforms for Claude only', (name, most) => {
  const files = [...loaded(name)]
  expect(files.length).toBeLessThanOrEqual(most)
  const hasPlatforms = files.some((file) =>
    readFileSync(join(root, 'dist/node', file), 'utf8').includes('bedrock-2023-05-31'),
  )
  expect(hasPlatforms).toBe(name === 'anthropic.js')
})

test('the bundles for Node keep the names of functions and the paths of sources, and are ASCII', () => {
  const core = readFileSync(join(root, 'dist/node/chunk-core.js'), 'utf8')
  expect(core).toMatch(/^async function\* runLoop\(/m)
  expect(core).toContain('// src/engine/chat/loop.ts')
  const others = readdirSync(join(root, 'dist/node')).filter((name) =>
    /[^\0-\x7F]/.test(readFileSync(join(root, 'dist/node', name), 'utf8')),
  )
  expect(others).toEqual([])
})

test('declarations that name what can be disposed of bring its library: a tsconfig without `lib` has none', () => {
  const declared = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts') && !name.startsWith('.page'))
    .map((name) => ({ name, text: readFileSync(join(root, 'dist', name), 'utf8') }))
    .filter(({ text }) => /\bSymbol\.(?:asyncD|d)ispose\b|\b(?:AsyncD|D)isposable\b/.test(text))
  expect(declared.map(({ name }) => name)).toContain(
    join('engine', 'model-call', 'run-stream.d.ts'),
  )
  const lib = '/// <reference lib="esnext.disposable"'
  const lacking = declared.filter(({ text }) => !text.startsWith(lib))
  expect(lacking.map(({ name }) => name)).toEqual([])
})

test('the program can be run by its name: its file is in the repository and executable, and so is its bundle', () => {
  // The package's own file, whose shape is known.
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly bin: Readonly<Record<string, string>>
  }
  expect(bin).toEqual({ allm: './bin/allm-ts.js', 'allm-ts': './bin/allm-ts.js' })
  for (const file of [...Object.values(bin), 'dist/node/cli.js']) {
    expect(() => accessSync(join(root, file), constants.X_OK)).not.toThrow()
  }
})

test('what is not published is what no entry point reaches', () => {
  const left = readFileSync(join(root, 'dist/.npmignore'), 'utf8').split('\n')
  expect(left).toEqual(
    expect.arrayContaining(['apps/cli/main.js', 'engine/chat/loop.d.ts', 'core/types/json.js']),
  )
  expect(left.filter((path) => !existsSync(join(root, 'dist', path)))).toEqual([])
  expect(left.filter((path) => /^node\/|^[\w-]+\.(?:js|d\.ts)$/.test(path))).toEqual([])
})

test('the bundles for Node refuse a malformed path: the bundler has not left out the check', async () => {
  const bundles = pathToFileURL(join(root, 'dist/node/')).href
  // They have what the sources have.
  const { createRuns } = (await import(`${bundles}runs.js`)) as typeof sourceRuns
  const { memoryStore } = (await import(`${bundles}stores.js`)) as typeof sourceStores
  const errors: unknown[] = []
  const authorize = vi.fn<() => object>(() => ({}))
  const runs = createRuns({ engine: () => Promise.reject(new Error()), store: memoryStore() })
  const handle = runs.handler({ authorize, onError: (error) => errors.push(error) })
  for (const path of ['%ZZ', 'a%', 'a/approvals/%E0%A4%A', '%ZZ/events']) {
    const response = await handle(new Request(`http://localhost/runs/${path}`))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ reason: 'invalid_path' })
  }
  expect(errors).toEqual([])
  expect(authorize).not.toHaveBeenCalled()
})
