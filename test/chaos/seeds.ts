import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq } from 'highkiq'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { chance } from '../conformance/chance.js'
import { startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { isBusy } from './seed-workers.js'
import { type SeedCrew, SharedCrew } from './shared-crew.ts'

/** The first seed of a storm, and how many there are. */
export const FIRST_SEED = Number(process.env.HIGHKIQ_TEST_SEED ?? 1)
export const SEEDS = Number(process.env.HIGHKIQ_SEEDS ?? 20)
/**
 * PostgreSQL takes longer for a seed. It runs one in ten; with 20 seeds or fewer only those of short storms (`isShort`).
 */
const ONE_IN = 10
const AT_ONCE = 5
/** The seeds that share their processes. With more on PostgreSQL, workers are killed before they have run a job. */
const TOGETHER = 20
const TOGETHER_ON_POSTGRES = 5
/** From so many seeds on, all that a storm causes has happened with one of them. */
const ENOUGH = 20
/** A storm that takes longer is stuck, also on a busy machine. */
const MOST_MS = 300_000
/** How often seeds are tried whose stores do not answer in time. */
const TRIES = 5
/** A folder in memory: writes do not wait for a disk, and a killed process loses nothing that it wrote. */
const MEMORY = '/dev/shm'
const DATABASES = 10_000
/** The most connections to PostgreSQL: of all processes to the stores of all seeds. */
const CONNECTIONS = 1000

export interface StormOutcome {
  /** What should not have happened. */
  wrong: string[]
  /** How often happened what the storm is to cause: each must occur with one of the seeds. */
  happened: Record<string, number>
}

export interface Storm {
  /** What the storm is about. */
  name: string
  /** What holds during the storm. */
  title: string
  /** What the processes run: a file of this folder. */
  program: string
  isShort?: boolean
  /** Whether it checks the order of a queue's jobs, which two shards do not keep. */
  needsOrder?: boolean
  run(url: string, seed: number, crew: SeedCrew): Promise<StormOutcome>
}

/** Defines the tests of a storm on each store, each seed on a store of its own. A failure says how to run its seed again. */
export function stormSuite({ name, title, program, isShort, needsOrder, run }: Storm): void {
  // A second try would hide what goes wrong with one seed of many.
  const options = { timeout: MOST_MS + SEEDS * 30_000, retry: 0 }
  const check = async (urlOf: (seed: number, tries: number) => string, oneIn = 1, together = TOGETHER) => {
    const seeds = Math.ceil(SEEDS / oneIn)
    const wrong: string[] = []
    const sums: Record<string, number> = {}
    /** Resolves with false when the machine is too busy for the storms of these seeds. */
    const runGroup = async (first: number, size: number, tries: number) => {
      let wasBusy = false
      const fail = (what: string) =>
        void wrong.push(
          `${what}\nRun this again with HIGHKIQ_TEST_SEED=${first} HIGHKIQ_SEEDS=${oneIn > 1 ? Math.max(size * oneIn, ENOUGH + 1) : size}`,
        )
      const crew = new SharedCrew(program, chance(first), fail)
      onTestFinished(() => crew.end())
      const members = Array.from({ length: size }, (_, n) => crew.join(first + n))
      await Promise.all(
        members.map(async (member) => {
          const { seed } = member
          const ended = new AbortController()
          try {
            const url = urlOf(seed, tries)
            const outcome = await Promise.race([run(url, seed, member), stuck(url, member, crew, ended.signal)])
            for (const what of outcome.wrong) fail(`seed ${seed}: ${what}`)
            for (const [what, n] of Object.entries(outcome.happened)) sums[what] = (sums[what] ?? 0) + n
          } catch (thrown) {
            if (isBusy(thrown)) wasBusy = true
            else fail(`seed ${seed}: ${(thrown as Error).stack}`)
          } finally {
            ended.abort()
          }
          crew.leave(member)
        }),
      )
      return !wasBusy
    }
    for (let first = FIRST_SEED; first < FIRST_SEED + seeds; first += together) {
      const size = Math.min(together, FIRST_SEED + seeds - first)
      let tries = 0
      while (!(await runGroup(first, size, tries)))
        expect(++tries, `seed ${first} finds the stores too busy`).toBeLessThan(TRIES)
    }
    expect(wrong).toEqual([])
    const never = Object.entries(sums).filter(([, n]) => n === 0)
    if (seeds >= ENOUGH) expect(never).toEqual([])
  }

  describe(`${name} on SQLite`, () => {
    test(title, options, async () => {
      const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'highkiq-chaos-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      await check((seed, tries) => `sqlite:${folder}/${seed}-${tries}.db`)
    })
  })

  onRedis(`${name} on Redis`, () => {
    test(title, options, async () => {
      const server = await startServer({ databases: DATABASES })
      onTestFinished(() => server.remove())
      await check((seed, tries) => server.url((seed * TRIES + tries) % DATABASES))
    })
  })

  if (SEEDS <= ENOUGH && !isShort) return
  onRedis(`${name} on two shards`, () => {
    test.skipIf(needsOrder)(title, options, async () => {
      const servers = await Promise.all([0, 1].map(() => startServer({ databases: DATABASES })))
      onTestFinished(async () => {
        for (const server of servers) await server.remove()
      })
      await check((seed, tries) => servers.map((server) => server.url((seed * TRIES + tries) % DATABASES)).join(' '))
    })
  })

  onPostgres(`${name} on PostgreSQL`, () => {
    test(title, options, async () => {
      const server = await startPostgres({ max_connections: CONNECTIONS })
      onTestFinished(() => server.remove())
      await check((seed, tries) => server.url(`?schema=seed_${seed}_${tries}`), ONE_IN, TOGETHER_ON_POSTGRES)
    })
  })
}

/** Rejects after MOST_MS, and says what a storm waits for; or when `ended` aborts. */
async function stuck(url: string, member: SeedCrew, crew: SharedCrew, ended: AbortSignal): Promise<never> {
  await sleep(MOST_MS, undefined, { ref: false, signal: ended })
  const store = openStore(url)
  const waitsFor = member.isWaiting
    ? `it waits for processes or other seeds (no process works yet for the seeds [${crew.notReady}]; ${crew.busyStarts} processes found their stores busy, and were started again)`
    : `it has ${JSON.stringify(await store.metrics.totals())}, owners ${JSON.stringify(await store.workers.leases())}`
  await store.close()
  throw new Error(`the storm does not end within ${MOST_MS / 1000} s: ${waitsFor}`)
}

/** Returns a promise that a storm awaits later, or not at all when it has failed. */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** Resolves when no job waits or runs. */
export async function untilIdle({ store }: Highkiq): Promise<void> {
  for (;;) {
    const { enqueued, fetched, retries, scheduled } = await store.metrics.totals()
    if (enqueued + fetched + retries + scheduled === 0) return
    await sleep(20)
  }
}

/**
 * Runs a test for each of `seeds` seeds, some of them at a time, because it mostly waits: for leases, and for processes that
 * start and stop.
 */
export async function eachSeed(seeds: number, run: (seed: number) => Promise<void>): Promise<void> {
  const left = Array.from({ length: seeds }, (_, n) => FIRST_SEED + n).values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const seed of left) await run(seed)
    }),
  )
}
