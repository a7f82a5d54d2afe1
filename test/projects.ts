/**
 * The test files of each Vitest project, as patterns below the root. A file that no list names is of `behaviour`, which `npm test` runs: it
 * needs no build, no database and no browser. The other projects need a build.
 */
export const projects = {
  /** What the repository promises about itself: its documents, examples, public names, sizes, architecture, scripts and package. */
  repo: [
    'test/*.test.ts',
    'test/gates/**/*.test.ts',
    'test/scripts/**/*.test.ts',
    'test/examples/**/*.test.ts',
  ],
  /** The conformance suites on every adapter and against planted bugs, what needs a database, the program and its pages. */
  kit: [
    'test/apps/**/*.test.ts',
    'test/bridges/ai-sdk/conformance.test.ts',
    'test/bridges/mcp/servers.test.ts',
    'test/durable/queues/**/*.test.ts',
    'test/durable/stores/{postgres,redis,sql-processes,slot-processes}*.test.ts',
    'test/middleware/conformance.test.ts',
    'test/testing/conformance/**/*.test.ts',
  ],
  /** What needs a real browser: `npm run test:browser`. */
  browser: ['test/browser/**/*.test.ts'],
} as const
