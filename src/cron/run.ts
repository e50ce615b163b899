/** Prepares the job of one tick, and releases its lock when it has ended. */

import { createHash } from 'node:crypto'
import type { Client } from '../client/client.ts'
import { addPushEvent } from '../client/push-events.ts'
import { given } from '../job/options.ts'
import { answerOf } from '../job/wait.ts'
import type { CronTick } from '../store/contract.ts'
import { goesOn, type Plugin } from '../worker/plugin.ts'
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
export async function runOf(
  client: Client,
  run: Runnable,
  tick: number,
  jid: string,
  now: number,
): Promise<CronTick['push']> {
  const { name, args, shown } = run
  const lock = shown.overlap === 'skip' ? lockOf(name) : undefined
  const prepare = async () =>
    client.prepare({
      ...run.request(typeof args === 'function' ? await args(new Date(tick)) : args),
      ...given(shown, ['queue', 'priority']),
      jid,
      hk_unique: undefined,
      hk_cron: name,
      hk_tick: tick,
      ...(lock === undefined ? {} : { hk_lock: lock }),
    })
  const prepared = await answerOf(`cron ${name}: its args or client middleware`, PREPARE_SECONDS, prepare())
  if (!prepared) return null
  addPushEvent(prepared, now)
  return { jid: prepared.jid, item: prepared.destination, ...(lock === undefined ? {} : { lock }) }
}

/** Releases the lock of a job in the step that ends the job. */
export const lockedRuns: Plugin = {
  effects({ hk_lock: lock, jid }, outcome) {
    if (typeof lock !== 'string' || goesOn(outcome)) return undefined
    return [{ kind: 'release-lock', lock, holder: jid }]
  },
}
