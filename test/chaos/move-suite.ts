import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { moveStorm } from './move-storm.ts'
import { eachSeed } from './seeds.ts'

/** HIGHKIQ_MOVE_SEEDS=1000 runs the long form; HIGHKIQ_TEST_SEED sets the first seed. PostgreSQL runs a third of them. */
export const MOVE_SEEDS = Number(process.env.HIGHKIQ_MOVE_SEEDS ?? 4)

interface Server {
  remove(): Promise<void>
}

/** Moves jobs from SQLite to a store and back, each seed with a store of its own: its URL is that of `urlOf`. */
export function moveTest<S extends Server>(
  seeds: number,
  start: () => Promise<S>,
  urlOf: (server: S, seed: number) => string,
): void {
  const title = 'each job ends once while it moves from SQLite and back, and movers and workers are killed'
  test(title, { timeout: 300_000 + seeds * 30_000 }, async () => {
    const server = await start()
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-move-'))
    onTestFinished(async () => {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    })
    const sums: Record<string, number> = {}
    await eachSeed(seeds, async (seed) => {
      const { wrong, happened } = await moveStorm(`sqlite:${folder}/${seed}.db`, urlOf(server, seed), seed)
      expect(wrong, `seed ${seed}`).toEqual([])
      for (const [what, n] of Object.entries(happened)) sums[what] = (sums[what] ?? 0) + n
    })
    expect(Object.entries(sums).filter(([, n]) => n === 0)).toEqual([])
  })
}
