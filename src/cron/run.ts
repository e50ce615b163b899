/** Prepares the job of one tick, and follows it to its end. */

import { createHash } from 'node:crypto'
import type { AppPort } from '../app/port.ts'
import type { Client } from '../client/client.ts'
import { addPushEvent } from '../client/push-events.ts'
import type { PushRequest } from '../client/request.ts'
import { ENDED_STATES, findJob } from '../inspect/find.ts'
import type { JobContext } from '../job/context.ts'
import { given } from '../job/options.ts'
import { answerOf } from '../job/wait.ts'
import type { CronRunState, CronTick, Effect } from '../store/contract.ts'
import { goesOn, type Outcome, type Plugin } from '../worker/plugin.ts'
import type { Runnable } from './entry.ts'

/** Client middleware, or a function that returns arguments, must answer within this time. */
const PREPARE_SECONDS = 30
/** The job of a run that has held its lock for this long is searched for. */
const HELD_MS = 60_000

/** Returns the id of the job of a tick: the same in every process that may push it. */
export function tickJid(name: string, tick: number): string {
  return createHash('sha256').update(`${name}\n${tick}`).digest('hex').slice(0, 24)
}

export function lockOf(name: string): string {
  return `cron:${name}`
}

/** Returns the push of a tick's job, without the locks that only a store has. */
export async function requestOf(
  { name, args, shown, request }: Runnable,
  tick: number,
  jid: string,
): Promise<PushRequest> {
  return {
    ...request(typeof args === 'function' ? await args(new Date(tick)) : args),
    ...given(shown, ['queue', 'priority']),
    jid,
    hk_cron: name,
    hk_tick: tick,
  }
}

/** Prepares the push of a tick's job. Resolves with null when client middleware has stopped it. */
export async function runOf(
  client: Client,
  run: Runnable,
  tick: number,
  jid: string,
  now: number,
): Promise<CronTick['push']> {
  const { name, shown } = run
  const lock = shown.overlap === 'skip' ? lockOf(name) : undefined
  const prepare = async () =>
    client.prepare({
      ...(await requestOf(run, tick, jid)),
      hk_unique: undefined,
      ...(lock === undefined ? {} : { hk_lock: lock }),
    })
  const prepared = await answerOf(`cron ${name}: its args or client middleware`, PREPARE_SECONDS, prepare())
  if (!prepared) return null
  addPushEvent(prepared, now)
  return { jid: prepared.jid, item: prepared.destination, ...(lock === undefined ? {} : { lock }) }
}

/** Returns whether the job of a run with a lock was deleted, or has ended in a program that does not know locks. */
export async function isRunGone(app: AppPort, jid: string, since: number): Promise<boolean> {
  return app.now() - since >= HELD_MS && ENDED_STATES.has((await findJob(app, jid)).state)
}

/** The state of a run after each outcome; the other outcomes change nothing that an entry remembers. */
const STATES: Partial<Record<Outcome['kind'], CronRunState>> = {
  started: 'running',
  ...{ snoozed: 'waiting', released: 'waiting', paused: 'waiting', interrupted: 'waiting', rescued: 'waiting' },
  ...{ 'added-to-queue': 'waiting', retry: 'retrying', done: 'succeeded' },
  ...{ 'business-failure': 'failed', discarded: 'failed', dead: 'dead', 'crashed-out': 'dead', killed: 'dead' },
  ...{ cancelled: 'cancelled', expired: 'cancelled', deleted: 'cancelled', filtered: 'cancelled' },
}

/**
 * Follows the runs of cron entries, each in the step that moves its job: an entry remembers how its runs go on, and a run
 * that ends releases its lock.
 */
export function cronRuns(): Plugin {
  const starts = new WeakMap<JobContext, number>()
  return {
    concerns: ['hk_cron', 'hk_lock'],
    effects(payload, outcome, now, ctx) {
      const { hk_cron: name, hk_lock: lock, jid } = payload
      const effects: Effect[] = []
      const state = outcome.kind === 'dead' && outcome.isDeleted ? 'failed' : STATES[outcome.kind]
      if (typeof name === 'string' && state) {
        if (ctx && state === 'running') starts.set(ctx, now())
        const hasEnded = state !== 'waiting' && state !== 'running'
        const startedAt = (ctx && starts.get(ctx)) ?? null
        effects.push({ kind: 'cron-run', name, jid, state, startedAt, endedAt: hasEnded ? now() : null })
      }
      if (typeof lock === 'string' && !goesOn(outcome)) effects.push({ kind: 'release-lock', lock, holder: jid })
      return effects.length > 0 ? effects : undefined
    },
  }
}
