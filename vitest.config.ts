import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/build.ts', 'test/redis/install.ts'],
    testTimeout: 20_000,
    // Two cores: more would only make processes wait for each other.
    maxWorkers: 2,
  },
})
