import { defineConfig } from 'vitest/config'
import { projects } from './test/projects.ts'
import { shared } from './vitest.config.ts'

// The tests in a real browser, which take minutes: `npm run test:browser`.
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    include: [...projects.browser],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
