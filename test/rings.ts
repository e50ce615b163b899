import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * When a test runs: `fast` by a contributor, all day (`npm test`); `full` before a change is taken (`npm run test:full`);
 * `nightly` when nobody waits (`npm run test:nightly`). Each test file of a project belongs to one ring.
 */
export type Ring = 'fast' | 'full' | 'nightly'
export const rings: readonly Ring[] = ['fast', 'full', 'nightly']

/** The ring of the files of a folder, and by name (without `.test.ts`) the files that are in another one, or in none. */
export type Folder = { rest: Ring; none?: string[] } & Partial<Record<Ring, string[]>>

/** The folders of each project. Unit tests stand beside what they test, and are all fast. */
export const folders: Record<'highkiq' | 'on Redis' | 'on PostgreSQL' | 'on shards', Record<string, Folder>> = {
  highkiq: {
    test: { rest: 'fast' },
    'test/alerts': { rest: 'fast', full: ['command', 'delivery'] },
    'test/bench': { rest: 'fast' },
    'test/chaos': { rest: 'full', fast: ['growth', 'verdict'], nightly: ['move-postgres'] },
    'test/cli': { rest: 'full', fast: ['messages'], nightly: ['bench'] },
    'test/client': { rest: 'fast' },
    'test/conformance': {
      rest: 'fast',
      full: ['exported', 'postgres', 'sharded', 'sqlite-memory'],
      nightly: ['broken', 'postgres-long', 'redis-cluster', 'redis-long', 'redis-namespace', 'sqlite-long'],
    },
    'test/cron': { rest: 'full' },
    'test/dashboard': { rest: 'full', fast: ['job'], nightly: ['overlap'] },
    'test/demo': { rest: 'full' },
    'test/docs': {
      rest: 'full',
      nightly: ['frameworks', 'nestjs', 'nestjs-11', 'nextjs', 'nextjs-bundled', 'runtimes', 'site', 'transactions'],
    },
    'test/engine': {
      rest: 'fast',
      full: ['cron', 'large-batches', 'lease', 'ordered-crash', 'ordered-faults', 'signals', 'threads', 'trouble'],
    },
    'test/examples': { rest: 'full' },
    'test/fuzz': { rest: 'full' },
    'test/http': { rest: 'fast', full: ['document-lint', 'grafana'] },
    'test/inspect': { rest: 'fast' },
    'test/interop': { rest: 'full' },
    'test/otel': { rest: 'fast' },
    'test/postgres': { rest: 'full' },
    'test/redis': { rest: 'full' },
    'test/sqlite': { rest: 'full', fast: ['cancellations', 'metrics', 'migration', 'ordered-fence'] },
    'test/tasks': { rest: 'fast', full: ['import'] },
    'test/starter': { rest: 'full', fast: ['create'] },
    'test/testing': { rest: 'fast' },
    'test/types': { rest: 'full', nightly: ['versions'] },
    'test/transfer': { rest: 'full', nightly: ['more-shards', 'postgres'] },
    'test/wire': { rest: 'fast' },
  },
  // The suites that know nothing of stores, again: some for each area, and those of faults and of killed workers.
  'on Redis': {
    'test/alerts': { rest: 'nightly', fast: ['sender'], full: ['crash'], none: ['command', 'delivery'] },
    'test/client': { rest: 'nightly', fast: ['bulk'] },
    // No store has a part in the ones that are left out.
    'test/dashboard': { rest: 'nightly', none: ['access', 'layout', 'overlap', 'tabs'] },
    'test/engine': {
      rest: 'nightly',
      fast: ['crash', 'push'],
      full: ['ordered-crash', 'ordered-faults'],
      // What befalls a file; what names its stores itself; what no store has a part in.
      none: ['trouble', 'lease', 'threads', 'signals', 'cron'],
    },
    'test/fuzz': { rest: 'full', none: ['arguments', 'config', 'cursors', 'files', 'http'] },
    'test/http': { rest: 'nightly', fast: ['jobs'], none: ['dashboard', 'document-lint', 'grafana', 'mounts', 'page'] },
    'test/inspect': { rest: 'nightly', fast: ['all-jobs', 'queues'] },
    'test/otel': { rest: 'fast' },
    'test/tasks': { rest: 'nightly', fast: ['life'], none: ['bad-files', 'import'] },
    'test/wire': { rest: 'nightly', fast: ['write'] },
  },
  // The same, of which fewer run before a change is taken: they differ from those on Redis only in the store.
  'on PostgreSQL': {
    'test/client': { rest: 'nightly' },
    'test/engine': {
      rest: 'nightly',
      full: ['crash', 'failure', 'metrics', 'push', 'stop', 'two-leaders'],
      none: ['trouble', 'lease', 'threads', 'signals', 'cron'],
    },
    'test/fuzz': { rest: 'nightly', none: ['arguments', 'config', 'cursors', 'files', 'http'] },
    'test/inspect': { rest: 'nightly' },
    'test/tasks': { rest: 'nightly', none: ['bad-files', 'import'] },
  },
  // Two files that are one store.
  'on shards': {
    'test/engine': {
      rest: 'nightly',
      none: [
        ...['trouble', 'lease', 'threads', 'signals', 'cron'],
        // Some of their cases need an order of jobs that two shards do not have, or a unique job in a batch.
        ...[
          'batches',
          'cancel',
          'capsules',
          'crash',
          'due',
          'events',
          'finished',
          'iterable',
          'job-log',
          'large-batches',
        ],
        ...['limits', 'limits-paused', 'max-length', 'pause', 'prefetch', 'priority', 'push', 'resize', 'set-limits'],
        ...['process', 'shared-limits', 'stop', 'unique', 'work'],
      ],
    },
  },
}

/** Seconds of the longest files, on two quiet cores. The others need less (`longest-first.ts`). */
export const secondsOf: Record<string, number> = {
  'test/transfer/postgres.test.ts': 400,
  'test/conformance/sqlite.test.ts': 130,
  'test/conformance/redis.test.ts': 80,
  'test/tasks/import.test.ts': 75,
  'test/engine/lease.test.ts': 60,
  'test/cli/import.test.ts': 59,
  'test/docs/nextjs-bundled.test.ts': 150,
  'test/docs/nextjs.test.ts': 100,
  'test/docs/nestjs.test.ts': 60,
  'test/docs/site.test.ts': 60,
  'test/docs/frameworks.test.ts': 50,
  'test/docs/programs.test.ts': 35,
  'test/conformance/postgres.test.ts': 70,
  'test/conformance/sqlite-long.test.ts': 58,
  'test/dashboard/layout.test.ts': 58,
  'test/cli/swarm.test.ts': 55,
  'test/redis/steps.test.ts': 55,
  'test/redis/lease.test.ts': 54,
  'test/conformance/redis-long.test.ts': 50,
  'test/chaos/harness.test.ts': 95,
  'test/chaos/limits.test.ts': 60,
  'test/chaos/unique.test.ts': 55,
  'test/chaos/events.test.ts': 55,
  'test/chaos/batches.test.ts': 50,
  'test/chaos/deferred.test.ts': 45,
  'test/chaos/priority.test.ts': 45,
  'test/chaos/redis.test.ts': 49,
  'test/conformance/redis-namespace.test.ts': 48,
  'test/conformance/redis-cluster.test.ts': 100,
  'test/dashboard/tasks.test.ts': 46,
  'test/engine/cron.test.ts': 45,
  'test/types/versions.test.ts': 45,
  'test/sqlite/ending.test.ts': 44,
  'test/chaos/kill-workers.test.ts': 43,
  'test/engine/signals.test.ts': 43,
  'test/engine/threads.test.ts': 42,
  'test/conformance/sqlite-memory.test.ts': 40,
  'test/dashboard/queues.test.ts': 40,
  'test/dashboard/sets.test.ts': 40,
  'test/chaos/ordered.test.ts': 52,
  'test/cron/processes.test.ts': 48,
  'test/chaos/import.test.ts': 42,
  'test/chaos/move.test.ts': 40,
  'test/demo/demo.test.ts': 33,
  'test/engine/ordered-faults.test.ts': 33,
  'test/sqlite/log.test.ts': 32,
  'test/types/package.test.ts': 32,
  'test/redis/types.test.ts': 31,
  'test/engine/ordered-crash.test.ts': 30,
  'test/engine/cancel.test.ts': 29,
  'test/engine/ordered.test.ts': 28,
  'test/engine/iterable.test.ts': 28,
}

/** The test files of a project that are in `ring`, by their paths in the checkout. Without a ring: all of them. */
export function filesOf(project: keyof typeof folders, ring?: Ring): string[] {
  return Object.entries(folders[project]).flatMap(([path, folder]) =>
    namesIn(path)
      .filter((name) => {
        const ringsOfFile = ringsOf(folder, name)
        return ring ? ringsOfFile.includes(ring) : ringsOfFile.length > 0
      })
      .map((name) => `${path}/${name}.test.ts`),
  )
}

/** The rings of a file: one, or none. More only by mistake. */
export function ringsOf(folder: Folder, name: string): Ring[] {
  const named = rings.filter((ring) => folder[ring]?.includes(name))
  if (folder.none?.includes(name)) return named
  return named.length > 0 ? named : [folder.rest]
}

/** The names of the test files in a folder itself, without `.test.ts`. */
export function namesIn(path: string): string[] {
  const found = readdirSync(fileURLToPath(new URL(`../${path}`, import.meta.url)))
  return found.filter((file) => file.endsWith('.test.ts')).map((file) => file.slice(0, -'.test.ts'.length))
}
