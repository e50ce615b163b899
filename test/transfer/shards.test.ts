import { test } from 'vitest'
import { jobs, movedWhole, ordered } from './shards-suite.ts'

const timeout = 240_000

test('a mover to two shards that is killed at any step neither loses nor doubles a job', { timeout }, () =>
  movedWhole(jobs, 1, 2),
)

test('a mover to two shards that is killed at any step neither loses nor doubles an ordered payload', { timeout }, () =>
  movedWhole(ordered, 1, 2),
)
