import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/architecture/broken-tree/**'],
    globalSetup: ['test/support/services/built.ts'],
    reporters: ['default', './test/support/services/counts-reporter.ts'],
    // Tests start servers, processes and browsers; a limit is there to end a hang, not to measure.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    pool: 'forks',
  },
})
