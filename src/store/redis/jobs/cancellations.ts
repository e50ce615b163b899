/** Cancellations of jobs: ours, and Sidekiq's, which exist for iterable jobs only. */

import { hasCode } from '../../../job/errors.ts'
import {
  BRIEF_CANCELLATION_MS,
  CANCELLATION_LIFE_MS,
  CANCELLATIONS_PAGE,
  type CancellationState,
  type CancellationStore,
  DROPPED_LIFE_MS,
  MAX_CANCELLATIONS,
  MOST_CANCELLERS,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pairs } from '../server/chunks.ts'
import { StorePart } from '../server/server.ts'

/** Sidekiq keeps the state of an iteration for 30 days. */
export const ITERATION_SECONDS = 2_592_000
/** The jobs that one pipeline asks about. */
const CHUNK = 1000

const STATES: Record<string, CancellationState> = { m: 'requested', d: 'dropped', b: 'aborted', n: 'none' }

export class Cancellations extends StorePart implements CancellationStore {
  async request(which: string | readonly string[], _now?: number, brief = false): Promise<number[]> {
    const jids = [which].flat()
    const iterations = jids.map((jid) => this.keys.iteration(jid))
    const all = [this.keys.cancelled, this.keys.cancellationVersion, ...iterations]
    const args = [CANCELLATION_LIFE_MS, DROPPED_LIFE_MS, MAX_CANCELLATIONS, ITERATION_SECONDS]
    const briefMs = brief ? BRIEF_CANCELLATION_MS : ''
    return (await this.server.run(lua.requestCancellation, all, [...args, briefMs, ...jids])) as number[]
  }

  async withdraw(jid: string, _now: number, version?: number): Promise<CancellationState> {
    const all = [this.keys.cancelled, this.keys.iteration(jid)]
    const letter = await this.server.run(lua.withdrawCancellation, all, [jid, version ?? ''])
    return STATES[letter as string] as CancellationState
  }

  async among(jids: readonly string[]): Promise<string[]> {
    const cancelled: string[] = []
    for (let from = 0; from < jids.length; from += CHUNK) {
      const some = jids.slice(from, from + CHUNK)
      const [ours, time, ...iterations] = await this.server.pipeline((pipeline) => {
        pipeline.zmscore(this.keys.cancelled, ...some)
        pipeline.time()
        for (const jid of some) pipeline.hget(this.keys.iteration(jid), 'cancelled')
      })
      if (ours?.[0]) throw this.server.main.explain(ours[0])
      const failures = iterations.flatMap(([error]) => (error ? [this.server.main.explain(error)] : []))
      const away = failures.find((error) => hasCode(error, 'STORE_UNREACHABLE'))
      if (away) throw away
      const scores = ours?.[1] as (string | null)[]
      const [seconds] = (time?.[1] ?? ['0']) as string[]
      // A key that can't be read is no iteration of Sidekiq's.
      cancelled.push(
        ...some.filter((_, i) => holds(scores[i], Number(seconds) * 1000) || typeof iterations[i]?.[1] === 'string'),
      )
    }
    return cancelled
  }

  async since(since: number): Promise<{ version: number; jids: string[] }> {
    const newest = Number((await this.server.call((client) => client.get(this.keys.cancellationVersion))) ?? 0)
    // Workers read this number all the time, and it has hardly ever changed.
    if (newest === since) return { version: since, jids: [] }
    const page = ['WITHSCORES', 'LIMIT', 0, CANCELLATIONS_PAGE] as const
    const flat = await this.server.call((client) =>
      client.zrangebyscore(this.keys.cancelled, `(${since}`, '+inf', ...page),
    )
    const rows = pairs<string, string>(flat).map(([jid, score]) => {
      return { jid, version: Number(score) - (Number(score) % MOST_CANCELLERS) }
    })
    // A repeated request has raised the score of the last one.
    const jids = rows.flatMap(({ jid, version }) => (version === since ? [] : jid))
    const last = rows.length === CANCELLATIONS_PAGE ? rows.at(-1)?.version : undefined
    return { version: last ?? newest, jids }
  }
}

/** Returns whether a score is that of a request that has not ended; see cancellations.lua. */
function holds(score: string | null | undefined, now: number): boolean {
  const number = Number(score ?? 0)
  const isBrief = number % 1 > 0
  return number > 0 && (!isBrief || now < number + BRIEF_CANCELLATION_MS)
}
