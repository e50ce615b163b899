import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Seconds of the longest files, on two quiet cores. The others need less. */
const SECONDS: Record<string, number> = {
  'test/conformance/sqlite.test.ts': 130,
  'test/conformance/redis.test.ts': 80,
  'test/tasks/import.test.ts': 75,
  'test/engine/lease.test.ts': 60,
  'test/cli/import.test.ts': 59,
  'test/conformance/sqlite-long.test.ts': 58,
  'test/dashboard/frame.test.ts': 58,
  'test/cli/swarm.test.ts': 55,
  'test/redis/steps.test.ts': 55,
  'test/redis/lease.test.ts': 54,
  'test/conformance/redis-long.test.ts': 50,
  'test/chaos/redis.test.ts': 49,
  'test/conformance/redis-namespace.test.ts': 48,
  'test/dashboard/tasks.test.ts': 46,
  'test/engine/cron.test.ts': 45,
  'test/sqlite/ending.test.ts': 44,
  'test/chaos/kill-workers.test.ts': 43,
  'test/engine/signals.test.ts': 43,
  'test/engine/threads.test.ts': 42,
  'test/conformance/sqlite-memory.test.ts': 40,
  'test/dashboard/queues.test.ts': 40,
  'test/dashboard/sets.test.ts': 40,
  'test/chaos/ordered.test.ts': 39,
  'test/cron/processes.test.ts': 38,
  'test/chaos/import.test.ts': 33,
  'test/demo/demo.test.ts': 33,
  'test/engine/ordered-faults.test.ts': 33,
  'test/sqlite/log.test.ts': 32,
  'test/redis/types.test.ts': 31,
  'test/engine/ordered-crash.test.ts': 30,
  'test/engine/cancel.test.ts': 29,
  'test/engine/ordered.test.ts': 28,
  'test/engine/iterable.test.ts': 28,
}

/** Starts the longest files of each project first: at the end nobody waits for one that began late. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => SECONDS[relative(this.ctx.config.root, moduleId)] ?? 0
    // One project after the other: processes serve many files of one project.
    const sorted = await super.sort(specifications)
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects.flatMap((project) =>
      sorted.filter((one) => one.project === project).sort((a, b) => seconds(b) - seconds(a)),
    )
  }
}
