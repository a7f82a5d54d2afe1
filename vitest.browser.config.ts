import { defineConfig } from 'vitest/config'
import shared from './vitest.config.ts'

// The tests in a real browser, which take minutes: `npm run test:browser`.
export default defineConfig({
  resolve: shared.resolve ?? {},
  test: {
    ...shared.test,
    include: ['test/browser/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
