import { defineConfig } from 'vitest/config'

/** Stops a test that hangs. No test is late before that: a busy machine is slow, not wrong. */
const hangMs = 120_000

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed.ts'],
    reporters: ['default', './test/support/shared-reporter.ts'],
    // No module here keeps state between tests, so files may share a worker; it is four times faster.
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
