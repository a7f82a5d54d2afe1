import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // No module here keeps state between tests, so files may share a worker; it is four times faster.
    isolate: false,
    execArgv: ['--unhandled-rejections=strict'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
    },
  },
})
