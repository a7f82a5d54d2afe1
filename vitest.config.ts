import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { projects } from './test/projects.ts'

/** Stops a test that hangs. It is long, so that no test fails only because the machine is busy. */
const hangMs = 120_000

const sources = new URL('src/', import.meta.url).pathname

/** What all configurations share. */
export const shared = {
  // An example that a test imports uses the sources in place of the package.
  resolve: {
    alias: [
      { find: /^allm-ts$/, replacement: `${sources}index.ts` },
      { find: /^allm-ts\/(.+)$/, replacement: `${sources}$1.ts` },
    ],
  },
  test: {
    setupFiles: ['test/support/seed.ts'],
    // No module keeps state between tests, so files may share a worker, which is four times faster.
    isolate: false,
    // Every core. Vitest would leave one to itself, which is half of a machine with two.
    maxWorkers: '100%',
    testTimeout: hangMs,
    hookTimeout: hangMs,
    execArgv: ['--unhandled-rejections=strict'],
  },
}

export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    reporters: ['default', './test/support/shared-reporter.ts'],
    projects: [
      project('behaviour', ['test/**/*.test.ts'], Object.values(projects).flat()),
      project('repo', projects.repo),
      project('kit', projects.kit),
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
    },
  },
})

function project(
  name: string,
  include: readonly string[],
  without: readonly string[] = [],
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: { name, include: [...include], exclude: ['**/node_modules/**', ...without] },
  }
}
