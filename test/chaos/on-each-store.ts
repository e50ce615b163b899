/** Tests that run on each store, on a server of their own. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import { startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { endConnections } from './postgres-faults.ts'

/** Where a storm runs. */
export interface StormTarget {
  url: string
  /** For the files of its processes. */
  folder: string
  /** The part of a storm that its test takes on this store: on PostgreSQL the same work takes longer. */
  share: number
  /** Kills the server and starts it again, or ends connections to it. Absent on SQLite. */
  breakServer?: (random: () => number) => Promise<unknown>
}

interface Server {
  url(): string
  kill(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

/** Defines a test on each store. When it fails, the files of its processes stay. */
export function onEachStore(
  name: string,
  title: string,
  timeout: number,
  run: (target: StormTarget) => Promise<unknown>,
): void {
  const define = (targetIn: (folder: string) => Promise<Omit<StormTarget, 'folder'>>) =>
    test(title, { timeout }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
      await run({ folder, ...(await targetIn(folder)) })
      rmSync(folder, { recursive: true, force: true })
    })
  describe(`${name} on SQLite`, () => define(async (folder) => ({ url: `sqlite:${folder}/jobs.db`, share: 1 })))
  onRedis(`${name} on Redis`, () =>
    define(async () => targetOn(await startServer({ appendonly: true, appendfsync: 'always' }), 1)),
  )
  onPostgres(`${name} on PostgreSQL`, () =>
    define(async () => {
      const server = await startPostgres()
      return targetOn(server, 1 / 2, () => endConnections(server))
    }),
  )
}

function targetOn(server: Server, share: number, otherFault?: () => Promise<unknown>): Omit<StormTarget, 'folder'> {
  onTestFinished(() => server.remove())
  const restart = async () => {
    await server.kill()
    await server.start()
  }
  const breakServer = (random: () => number) => (otherFault && random() < 0.5 ? otherFault() : restart())
  return { url: server.url(), share, breakServer }
}
