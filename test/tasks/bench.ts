import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Highkiq, type HighkiqOptions, type Logger } from 'highkiq'
import { onTestFinished } from 'vitest'
import { database } from '../engine/bench.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** An app on a database of its own (on Redis, where that is asked for), and the folder it lies in; both are gone when the test is over. */
export function newApp(options: HighkiqOptions = {}): { hq: Highkiq; folder: string; url: string } {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-tasks-'))
  const url = database() ?? `sqlite:${folder}/test.db`
  const hq = new Highkiq({ url, logger: silent, random: () => 0, ...options })
  onTestFinished(async () => {
    await hq.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { hq, folder, url }
}

export async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of all) items.push(item)
  return items
}
