import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'node:util'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createFakeServer } from '../../src/server.ts'
import { root } from '../support/root.ts'

// Below node_modules, so that the imports of the examples resolve and the test runner ignores the folder.
const folder = mkdtempSync(join(root, 'node_modules/.allm-examples-'))
const names = readdirSync(join(root, 'examples')).filter((name) => /^\d/.test(name))

/** Bundles every example with the sources in place of the package, so that no build of it is needed. */
beforeAll(async () => {
  const entryPoints = readdirSync(join(root, 'src')).filter((file) => file.endsWith('.ts'))
  await build({
    entryPoints: names.map((name) => join(root, 'examples', name)),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
    alias: Object.fromEntries(
      entryPoints.map((file) => [
        file === 'index.ts' ? 'allm-ts' : `allm-ts/${file.replace('.ts', '')}`,
        join(root, 'src', file),
      ]),
    ),
  })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

/** Runs an example and returns the lines that it prints. */
async function printedBy(name: string, mark: string): Promise<readonly string[]> {
  let printed = ''
  const log = vi.spyOn(console, 'log').mockImplementation((...values: unknown[]) => {
    printed += `${format(...values)}\n`
  })
  try {
    await import(`${join(folder, name.replace('.ts', '.mjs'))}?${mark}`)
  } finally {
    log.mockRestore()
  }
  return printed
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd())
}

describe('on the Fake', () => {
  test.each(names)('%s prints the output that its comments show', async (name) => {
    vi.stubEnv('ALLM_PROVIDER', '')
    const source = readFileSync(join(root, 'examples', name), 'utf8')
    const expected = [...source.matchAll(/^\/\/ => ?(.*)$/gm)].map(([, line = '']) =>
      line.trimEnd(),
    )
    expect(expected.length).toBeGreaterThan(0)
    expect(await printedBy(name, 'fake')).toEqual(expected)
  })
})

describe('on a provider that is named in the environment', () => {
  test.each([
    ['openai', 'OPENAI_API_KEY', 'openaiBaseUrl'],
    ['anthropic', 'ANTHROPIC_API_KEY', 'anthropicBaseUrl'],
    ['gemini', 'GEMINI_API_KEY', 'geminiBaseUrl'],
  ] as const)('%s answers in place of the Fake', async (provider, variable, url) => {
    await using server = await createFakeServer({ script: [['text', 'Over the wire.']] })
    vi.stubEnv('ALLM_PROVIDER', provider)
    vi.stubEnv('ALLM_MODEL', 'any')
    vi.stubEnv('ALLM_BASE_URL', server[url])
    vi.stubEnv(variable, 'any')
    expect((await printedBy('01-plain.ts', provider))[0]).toBe('Over the wire.')
    expect(server.requests).toHaveLength(1)
  })
})

test('there is an example for every task that the README names', () => {
  expect(names.map((name) => name.replace(/^\d+-|\.ts$/g, ''))).toEqual([
    'plain',
    'streaming',
    'tool',
    'parallel-tools',
    'multi-turn',
    'structured-output',
    'manual-round-trip',
    'session',
    'ask-user',
    'image',
    'image-edit',
    'vision',
    'manual-tool',
    'manual-tool-session',
    'compact-tools',
    'prompt-cache',
    'stop-and-resume',
    'http-endpoint',
    'files',
    'support-agent',
    'fallback',
    'researchers',
  ])
})
