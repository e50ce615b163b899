import { isBuiltin } from 'node:module'
import { defineConfig } from 'vitest/config'
import { parseCLI } from 'vitest/node'
import { LongestFirst } from './test/longest-first.ts'
import { filesOf, type Ring, rings } from './test/rings.ts'

export default defineConfig(({ mode }) => {
  // The ring is the mode (`--mode fast`); a file that is named runs whatever its ring.
  const named = parseCLI(['vitest', ...process.argv.slice(2)]).filter
  const ring = named.length === 0 && isRing(mode) ? mode : undefined

  return {
    test: {
      globalSetup: ['test/build.ts', 'test/programs/install.ts'],
      // Long enough for a machine that does other things beside it: tests wait for signals, not for time.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      // What is waited for comes as soon as it can: on a loaded machine that is late.
      expect: { poll: { timeout: 60_000 } },
      // In CI a case that missed a moment on a busy machine gets a second try; the report counts it.
      retry: process.env.CI ? 1 : 0,
      // The built package is plain JavaScript: Node reads it faster than vite transforms it.
      server: { deps: { external: [/\/dist\//] } },
      // On two cores: many suites wait for processes and leases most of their time.
      maxWorkers: 3,
      // Each file has apps, databases and folders of its own; processes, and so what they have loaded, serve many files.
      isolate: false,
      sequence: { sequencer: LongestFirst },
      projects: [
        {
          extends: true,
          test: {
            name: 'highkiq',
            include: ring ? filesOf('highkiq', ring) : ['test/**/*.test.ts'],
            // One driver has one contract: libsql's is asked on a file, that of Node 24 in memory.
            exclude: isBuiltin('node:sqlite') ? [] : ['test/conformance/sqlite-memory.test.ts'],
          },
        },
        {
          extends: true,
          test: {
            name: 'on Redis',
            include: filesOf('on Redis', ring),
            setupFiles: ['test/engine/redis.setup.ts'],
          },
        },
        {
          extends: true,
          test: {
            name: 'on PostgreSQL',
            include: filesOf('on PostgreSQL', ring),
            setupFiles: ['test/engine/postgres.setup.ts'],
          },
        },
        {
          extends: true,
          test: {
            name: 'on shards',
            include: filesOf('on shards', ring),
            env: { HIGHKIQ_TEST_SHARDS: '2' },
          },
        },
        // Beside what they test.
        {
          extends: true,
          test: {
            name: 'units',
            include: ring && ring !== 'fast' ? [] : ['src/**/*.test.ts', 'dashboard/src/**/*.test.ts'],
          },
        },
      ],
    },
  }
})

function isRing(mode: string): mode is Ring {
  return (rings as readonly string[]).includes(mode)
}
