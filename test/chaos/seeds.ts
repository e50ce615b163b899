const AT_ONCE = 5

/**
 * Runs a storm for each of `seeds` seeds, some of them at a time, because a storm mostly waits: for leases, and for processes
 * that start and stop. HIGHKIQ_TEST_SEED sets the first seed.
 */
export async function eachSeed(seeds: number, run: (seed: number) => Promise<void>): Promise<void> {
  const first = Number(process.env.HIGHKIQ_TEST_SEED ?? 1)
  let next = first
  const runSome = async () => {
    while (next < first + seeds) await run(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runSome))
}
