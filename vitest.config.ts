import { defineConfig } from 'vitest/config'

/** Stops a test that hangs. It is long, so that no test fails only because the machine is busy. */
const hangMs = 120_000

const sources = new URL('src/', import.meta.url).pathname

export default defineConfig({
  // An example that a test imports uses the sources in place of the package.
  resolve: {
    alias: [
      { find: /^allm-ts$/, replacement: `${sources}index.ts` },
      { find: /^allm-ts\/(.+)$/, replacement: `${sources}$1.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // They are part of `npm run test:long`: vitest.browser.config.ts.
    exclude: ['**/node_modules/**', 'test/browser/**'],
    setupFiles: ['test/support/seed.ts'],
    reporters: ['default', './test/support/shared-reporter.ts'],
    // No module keeps state between tests, so files may share a worker, which is four times faster.
    isolate: false,
    testTimeout: hangMs,
    hookTimeout: hangMs,
    execArgv: ['--unhandled-rejections=strict'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
    },
  },
})
