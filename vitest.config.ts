import { isBuiltin } from 'node:module'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['test/build.ts', 'test/programs/install.ts'],
    // Long enough for a machine that does other things beside it: tests wait for signals, not for time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes as soon as it can: on a loaded machine that is late.
    expect: { poll: { timeout: 20_000 } },
    // In CI a case that missed a moment on a busy machine gets a second try; the report counts it.
    retry: process.env.CI ? 1 : 0,
    // The built package is plain JavaScript: Node reads it faster than vite transforms it.
    server: { deps: { external: [/\/dist\//] } },
    // On two cores: many suites wait for processes and leases most of their time.
    maxWorkers: 4,
    // Each file has apps, databases and folders of its own; processes, and so what they have loaded, serve many files.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'highkiq',
          include: ['test/**/*.test.ts'],
          // One driver has one contract: libsql's is asked on a file, that of Node 24 in memory.
          exclude: isBuiltin('node:sqlite') ? [] : ['test/conformance/sqlite-memory.test.ts'],
        },
      },
      // Beside what they test.
      { extends: true, test: { name: 'units', include: ['src/**/*.test.ts', 'dashboard/src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'on Redis',
          include: ['engine', 'tasks', 'wire', 'client', 'inspect', 'http', 'dashboard'].map(
            (suites) => `test/${suites}/*.test.ts`,
          ),
          exclude: [
            // What befalls a file; and what names its stores itself.
            ...['test/engine/trouble.test.ts', 'test/engine/lease.test.ts'],
            // What no store has a part in.
            ...[
              'test/engine/{threads,signals,cron}.test.ts',
              'test/tasks/{bad-files,import}.test.ts',
              'test/http/{dashboard,mounts,page}.test.ts',
              'test/dashboard/{access,frame,tabs}.test.ts',
            ],
          ],
          setupFiles: ['test/engine/redis.setup.ts'],
        },
      },
    ],
  },
})
