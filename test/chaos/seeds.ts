import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type SeedCrew, SharedCrew } from './shared-crew.ts'

const AT_ONCE = 5
/** The seeds that share their processes, and the groups of such seeds at a time. */
const TOGETHER = 5
const GROUPS_AT_ONCE = 2

/**
 * Runs a storm for each of `seeds` seeds, some of them at a time, because a storm mostly waits: for leases, and for processes
 * that start and stop. HIGHKIQ_TEST_SEED sets the first seed.
 */
export async function eachSeed(seeds: number, run: (seed: number) => Promise<void>): Promise<void> {
  const next = numbers(seeds)
  await inParallel(AT_ONCE, async () => {
    for (const seed of next) await run(seed)
  })
}

/** Does the same with processes of a program of this folder, which `shared-crew.ts` runs for some seeds at a time. */
export async function eachSeedTogether(
  seeds: number,
  program: string,
  run: (seed: number, crew: SeedCrew) => Promise<void>,
): Promise<void> {
  const next = numbers(seeds)
  await inParallel(GROUPS_AT_ONCE, async () => {
    for (let group = nextOf(next, TOGETHER); group.length > 0; group = nextOf(next, TOGETHER)) {
      const crew = new SharedCrew(fileURLToPath(new URL(program, import.meta.url)))
      onTestFinished(() => crew.end())
      const joined = group.map((seed) => [seed, crew.join()] as const)
      await Promise.all(joined.map(([seed, own]) => run(seed, own).finally(() => crew.leave(own))))
    }
  })
}

function* numbers(seeds: number): Generator<number, void> {
  const first = Number(process.env.HIGHKIQ_TEST_SEED ?? 1)
  for (let seed = first; seed < first + seeds; seed++) yield seed
}

function nextOf(numbers: Iterator<number, void>, most: number): number[] {
  const taken: number[] = []
  while (taken.length < most) {
    const { value, done } = numbers.next()
    if (done) break
    taken.push(value as number)
  }
  return taken
}

async function inParallel(n: number, run: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: n }, run))
}
