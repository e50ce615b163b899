/** Prepares the job of one tick, and releases its lock when it has ended. */

import { createHash } from 'node:crypto'
import type { Client } from '../client/client.ts'
import { answerOf } from '../job/wait.ts'
import type { CronTick } from '../store/contract.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'
import type { Runnable } from './entry.ts'

/** Client middleware, or a function that returns arguments, must answer within this time. */
const PREPARE_SECONDS = 30

/** Returns the id of the job of a tick: the same in every process that may push it. */
export function tickJid(name: string, tick: number): string {
  return createHash('sha256').update(`${name}\n${tick}`).digest('hex').slice(0, 24)
}

export function lockOf(name: string): string {
  return `cron:${name}`
}

/** Prepares the push of a tick's job. Resolves with null when client middleware has stopped it. */
export async function runOf(client: Client, run: Runnable, tick: number, jid: string): Promise<CronTick['push']> {
  const { name, args, shown } = run
  const lock = shown.overlap === 'skip' ? lockOf(name) : undefined
  const prepare = async () =>
    client.prepare({
      ...run.request(typeof args === 'function' ? await args(new Date(tick)) : args),
      ...(shown.queue === undefined ? {} : { queue: shown.queue }),
      jid,
      hk_cron: name,
      hk_tick: tick,
      ...(lock === undefined ? {} : { hk_lock: lock }),
    })
  const prepared = await answerOf(`cron ${name}: its args or client middleware`, PREPARE_SECONDS, prepare())
  if (!prepared) return null
  return { jid: prepared.jid, item: prepared.destination, ...(lock === undefined ? {} : { lock }) }
}

/** After these outcomes the job runs again or continues, and keeps its lock. */
const GOES_ON: ReadonlySet<Outcome['kind']> = new Set([
  'started',
  'retry',
  'snoozed',
  'paused',
  'released',
  'interrupted',
  'not-started',
  'rescued',
  'promoted',
  'added-to-queue',
])

/** Releases the lock of a job in the step that ends the job. */
export const lockedRuns: Plugin = {
  effects({ hk_lock: lock, jid }, { kind }) {
    if (typeof lock !== 'string' || GOES_ON.has(kind)) return undefined
    return [{ kind: 'release-lock', lock, holder: jid }]
  },
}
