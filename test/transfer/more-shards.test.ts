import { expect, test } from 'vitest'
import { jidOf } from '../conformance/tasks/tracked.ts'
import { OPEN_ROWS, runAll } from '../conformance/transfers/mixed-task.ts'
import { ID, jobs, movedWhole, ordered, task } from './shards-suite.ts'

const timeout = 600_000

for (const [title, to] of [
  ['three shards', 3],
  ['one store', 1],
] as const) {
  test(
    `a mover from two shards to ${title} that is killed at any step neither loses nor doubles a job`,
    { timeout },
    () => movedWhole(jobs, 2, to),
  )

  test(
    `a mover from two shards to ${title} that is killed at any step neither loses nor doubles an ordered payload`,
    {
      timeout,
    },
    () => movedWhole(ordered, 2, to),
  )
}

test('a mover from two shards to three that is killed at any step neither loses nor doubles a row', { timeout }, () =>
  movedWhole(task, 2, 3, async (target) =>
    expect(await runAll(target, 1)).toEqual(OPEN_ROWS.map((index) => jidOf(ID, index))),
  ),
)
