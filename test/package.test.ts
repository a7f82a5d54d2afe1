import { build, type Platform } from 'esbuild'
import { expect, test } from 'vitest'
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
