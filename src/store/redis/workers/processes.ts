/** Shows processes and their running jobs in Sidekiq's keys, and sends signals to processes. */

import type { BeatAnswer, ProcessRecord, RunningJob, Signal, WorkerStore } from '../../contract.ts'
import { StorePart } from '../server/server.ts'
import { runningField, runningOf } from './running-jobs.ts'

/** A signal that its process does not read is dropped after this time. */
const SIGNAL_SECONDS = 60
/** Of all processes one a minute removes the names of dead processes, as in Sidekiq. */
const CLEANUP_SECONDS = 60

export class Processes extends StorePart implements Partial<WorkerStore> {
  async heartbeat(record: ProcessRecord, seconds: number, running: readonly RunningJob[] = []): Promise<BeatAnswer> {
    const { identity, info, concurrency, busy, beat, quiet, rss } = record
    const ms = Math.round(seconds * 1000)
    const work = this.keys.running(identity)
    await this.server.transaction((transaction) => {
      transaction.unlink(work)
      if (running.length > 0) transaction.hset(work, Object.fromEntries(running.map(runningField))).pexpire(work, ms)
    })
    const asked = performance.now()
    await this.server.call((client) => client.ping())
    const rtt = performance.now() - asked
    const rtt_us = Math.round(rtt * 1000)
    const fields = { info, concurrency, busy, beat: beat / 1000, rtt_us, quiet: String(quiet), rss }
    const key = this.keys.process(identity)
    const [, exists] = await this.server.transaction((transaction) =>
      transaction.sadd(this.keys.processes, identity).exists(key).hset(key, fields).pexpire(key, ms),
    )
    const signal = (await this.server.call((client) => client.rpop(this.keys.signals(identity)))) as Signal | null
    return { signal, known: exists === 1, rtt }
  }

  async processes(): Promise<ProcessRecord[]> {
    const identities = (await this.server.call((client) => client.smembers(this.keys.processes))).sort()
    const answers = await this.server.readable((pipeline) => {
      for (const identity of identities) pipeline.hgetall(this.keys.process(identity))
    })
    const gone: string[] = []
    const records = identities.flatMap((identity, i) => {
      const fields = (answers[i] ?? {}) as unknown as Record<string, string>
      if (fields.info) return [recordOf(identity, fields)]
      gone.push(identity)
      return []
    })
    if (gone.length > 0) await this.#cleanUp(gone)
    return records
  }

  /** Removes names of processes that no longer beat: Sidekiq polls more slowly the more names there are. */
  async #cleanUp(gone: readonly string[]): Promise<void> {
    const ours = await this.server.call((client) =>
      client.set(this.keys.processCleanup, '1', 'EX', CLEANUP_SECONDS, 'NX'),
    )
    if (ours === 'OK') await this.server.call((client) => client.srem(this.keys.processes, ...gone))
  }

  async running(): Promise<(RunningJob & { identity: string })[]> {
    const identities = (await this.server.call((client) => client.smembers(this.keys.processes))).sort()
    const answers = await this.server.readable((pipeline) => {
      for (const identity of identities) {
        pipeline.hgetall(this.keys.running(identity)).hgetall(this.keys.otherRunning(identity))
      }
    })
    return identities.flatMap((identity, i) =>
      answers.slice(i * 2, i * 2 + 2).flatMap((fields) =>
        Object.entries((fields ?? {}) as unknown as Record<string, string>).flatMap(([slot, value]) => {
          const job = runningOf(slot, value)
          return job ? { identity, ...job } : []
        }),
      ),
    )
  }

  async leader(): Promise<string | null> {
    return this.server.call((client) => client.get(this.keys.leader))
  }

  async removeProcess(identity: string): Promise<void> {
    await this.server.all((pipeline) =>
      pipeline
        .srem(this.keys.processes, identity)
        .del(this.keys.process(identity), this.keys.running(identity), this.keys.signals(identity)),
    )
  }

  async signal(identity: string, signal: Signal): Promise<boolean> {
    if ((await this.server.call((client) => client.exists(this.keys.process(identity)))) === 0) return false
    const key = this.keys.signals(identity)
    await this.server.transaction((transaction) => transaction.lpush(key, signal).expire(key, SIGNAL_SECONDS))
    return true
  }
}

/** Sidekiq before 8.1.2 writes the concurrency only inside `info`. */
function recordOf(identity: string, fields: Record<string, string>): ProcessRecord {
  const { info = '{}', concurrency, busy, beat, quiet, rss } = fields
  return {
    identity,
    info,
    concurrency: Number(concurrency ?? concurrencyOf(info)),
    busy: Number(busy ?? 0),
    beat: Math.round(Number(beat ?? 0) * 1000),
    quiet: quiet === 'true',
    rss: Number(rss ?? 0),
  }
}

function concurrencyOf(info: string): number {
  try {
    return Number((JSON.parse(info) as { concurrency?: number }).concurrency ?? 0)
  } catch {
    return 0
  }
}
