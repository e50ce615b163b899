/** Shows processes and their running jobs in Sidekiq's keys, sends signals to processes, and warns of settings of the server. */

import { isProgress } from '../../../job/context.ts'
import { memberText } from '../../../job/json.ts'
import type { BeatAnswer, ProcessRecord, RunningJob, Signal, WorkerStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { eviction, infoOf } from '../server/diagnosis.ts'
import { StorePart } from '../server/server.ts'

/** A signal that its process does not read is dropped after this time. */
const SIGNAL_SECONDS = 60
/** Of all processes one a minute removes the names of dead processes, as in Sidekiq. */
const CLEANUP_SECONDS = 60

export class Processes extends StorePart implements Partial<WorkerStore> {
  async heartbeat(record: ProcessRecord, seconds: number, running: readonly RunningJob[] = []): Promise<BeatAnswer> {
    const { identity, info, concurrency, busy, beat, quiet, rss } = record
    const { keys } = this
    const connection = await this.server.ready()
    const asked = performance.now()
    await connection.call((client) => client.ping())
    const rtt = performance.now() - asked
    const rtt_us = Math.round(rtt * 1000)
    const fields = Object.entries({ info, concurrency, busy, beat: beat / 1000, rtt_us, quiet: String(quiet), rss })
    const all = [keys.processes, keys.process(identity), keys.running(identity), keys.signals(identity)]
    const args = [identity, Math.round(seconds * 1000), fields.length, ...fields.flat()]
    args.push(...running.flatMap(runningField))
    const [listed, signal] = (await connection.run(lua.heartbeat, all, args)) as [number, Signal | null]
    return { signal, known: listed === 1, rtt }
  }

  async showRunning(
    identity: string,
    seconds: number,
    running: readonly RunningJob[],
    ended: readonly string[],
  ): Promise<void> {
    const args = [Math.round(seconds * 1000), ended.length, ...ended, ...running.flatMap(runningField)]
    await this.server.run(lua.showRunning, [this.keys.running(identity)], args)
  }

  async processes(): Promise<ProcessRecord[]> {
    const identities = await this.#identities()
    const answers = await this.server.hashes(identities.map((identity) => this.keys.process(identity)))
    const gone: string[] = []
    const records = identities.flatMap((identity, i) => {
      const fields = answers[i] ?? {}
      if (fields.info) return [recordOf(identity, fields)]
      gone.push(identity)
      return []
    })
    // A server that accepts no writes can be read all the same.
    if (gone.length > 0) await this.#cleanUp(gone).catch(() => {})
    return records
  }

  async #identities(): Promise<string[]> {
    return (await this.server.call((client) => client.smembers(this.keys.processes))).sort()
  }

  /** Removes names of processes without a heartbeat: Sidekiq polls more slowly the more names there are. */
  async #cleanUp(gone: readonly string[]): Promise<void> {
    const ours = await this.server.call((client) =>
      client.set(this.keys.processCleanup, '1', 'EX', CLEANUP_SECONDS, 'NX'),
    )
    if (ours === 'OK') await this.server.call((client) => client.srem(this.keys.processes, ...gone))
  }

  async running(): Promise<(RunningJob & { identity: string })[]> {
    const identities = await this.#identities()
    const answers = await this.server.hashes(
      identities.flatMap((identity) => [this.keys.running(identity), this.keys.otherRunning(identity)]),
    )
    return identities.flatMap((identity, i) =>
      answers.slice(i * 2, i * 2 + 2).flatMap((fields) =>
        Object.entries(fields).flatMap(([slot, value]) => {
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
    const keys = [this.keys.process(identity), this.keys.signals(identity)]
    return this.server.succeeds(lua.sendSignal, keys, [signal, SIGNAL_SECONDS])
  }

  /** Returns nothing for a server that hides its settings. */
  async advice(): Promise<string[]> {
    const info = await this.server.call((client) => client.info('memory')).catch(() => '')
    const { severity, text, advice } = eviction(infoOf(info), this.server.options.url)
    return severity === 'ok' ? [] : [`${text}. ${advice}`]
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

/** Writes a running job as Sidekiq does: `payload` is JSON inside JSON, `run_at` is in whole seconds. `progress` is ours. */
function runningField({ slot, queue, text, startedAt, progress }: RunningJob): [string, string] {
  return [slot, JSON.stringify({ queue, payload: text, run_at: Math.floor(startedAt / 1000), progress })]
}

/** Reads a field, also of Sidekiq 6.0.1 and older, whose payload is an object. Returns undefined for anything else. */
function runningOf(slot: string, value: string): RunningJob | undefined {
  try {
    const { queue, payload, run_at, progress } = JSON.parse(value) as Record<string, unknown>
    const text = typeof payload === 'string' ? payload : memberText(value, 'payload')
    if (text === undefined) return undefined
    const job = {
      slot,
      queue: typeof queue === 'string' ? queue : '',
      text,
      startedAt: Number(run_at ?? 0) * 1000 || 0,
    }
    return isProgress(progress) ? { ...job, progress } : job
  } catch {
    return undefined
  }
}
