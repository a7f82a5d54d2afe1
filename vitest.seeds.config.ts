import { defineConfig } from 'vitest/config'
import { shared } from './vitest.config.ts'

// Property tests with random seeds; `npm run test:seeds` chooses the files and how many seeds.
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    runner: './test/support/seeds-runner.ts',
    testTimeout: 0,
  },
})
