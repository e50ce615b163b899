import { HighkiqError } from '../../../job/errors.ts'
import { packageFile } from '../../../load/package.ts'
import {
  machineOf,
  type OwnedJob,
  type ProcessRecord,
  type RunningJob,
  type SettleAndFetch,
  type SettleAndFetchAnswer,
  type Signal,
  type WorkerStore,
} from '../../contract.ts'
import { settleOneByOne } from '../../sql/settle-one-by-one.ts'
import { applyAll, moveAll } from '../jobs/moves.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { Queues, queueAt } from '../queues/queues.ts'
import { parseTicket, ticketOf } from '../queues/tickets.ts'
import { durability } from '../server/diagnosis.ts'
import { isMaybeStored } from '../server/errors.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { Adding } from '../tasks/adding.ts'
import { Leases } from './leases.ts'
import { LostFetches } from './lost-fetches.ts'
import { isPlainStep, plainStep } from './plain-step.ts'
import { isRowStep, rowStep } from './row-step.ts'
import { settleAndFetch } from './settle-and-fetch.ts'

/**
 * A lock that lasts for this many times the seconds that are asked for was acquired before the server's clock was set back.
 * Holders of one lock ask for about the same seconds.
 */
const TIMES_TOO_LONG = 10
/** The name of a claimed owner can't be used again for this long. */
const REMEMBERED_MS = 3_600_000

export class PostgresWorkerStore extends PostgresArea implements WorkerStore {
  readonly #lost = new LostFetches(this.server)

  readonly settleAndFetch: WorkerStore['settleAndFetch'] = async (owner, request) => {
    const { queues, n } = request.fetch
    const found = n > 0 ? await this.#lost.find(owner, n, queues) : []
    const rest = found.length > 0 ? { ...request, fetch: { queues, n: n - found.length } } : request
    const fetchNumber = this.#lost.beginFetch()
    try {
      const answer = await this.#settleAndFetch(owner, rest, fetchNumber)
      if (answer.fenced) {
        this.#lost.forget(owner)
        return answer
      }
      const settled = this.#lost.withEarlier(owner, request.settlements, answer.settled)
      this.#lost.settled(
        owner,
        request.settlements.filter((_, i) => answer.settled[i] === 'ok' || answer.settled[i] === 'fenced'),
      )
      this.#lost.noteReturned(owner, answer.fetched)
      return { ...answer, settled, fetched: found.length > 0 ? [...found, ...answer.fetched] : answer.fetched }
    } catch (thrown) {
      this.#lost.notReturned(owner, found)
      if (isMaybeStored(thrown)) this.#lost.answerLost(owner, request.settlements)
      throw thrown
    } finally {
      this.#lost.endFetch(fetchNumber)
    }
  }

  async #settleAndFetch(owner: string, request: SettleAndFetch, fetchNumber: number): Promise<SettleAndFetchAnswer> {
    try {
      const plain = isPlainStep(request) && (await plainStep(this.server, owner, request, fetchNumber))
      const answer = plain || (isRowStep(request) && (await rowStep(this.server, owner, request, fetchNumber)))
      if (answer) return answer
      return await this.server.write((db) => settleAndFetch(db, owner, request, fetchNumber))
    } catch (thrown) {
      if (thrown instanceof HighkiqError || request.started.length + request.settlements.length === 0) throw thrown
      return settleOneByOne(request, (part) => this.#settlePart(owner, part, fetchNumber))
    }
  }

  readonly waitForJobs: WorkerStore['waitForJobs'] = async (_owner, queues, _n, ms, signal) => {
    let isAsked = false
    await this.server.readUntil(queues, ms, signal, async () => {
      // A notification means jobs, most of the time, so the caller fetches without another question.
      if (isAsked) return true
      isAsked = true
      return (await this.server.runOne((db) => db.get(Queues).hasJobs(queues))) || undefined
    })
    return []
  }

  readonly join: WorkerStore['join'] = (owner, { seconds, host }) =>
    this.server.write(async (db) => {
      await db.run(sql.owner.deleteOld, REMEMBERED_MS)
      return (await db.first(sql.owner.join, owner, host, seconds)) !== undefined
    })

  // A renewal does not wait for the writers.
  readonly renew: WorkerStore['renew'] = (owner, seconds) =>
    this.server.runOne((db) => db.get(Leases).renew(owner, seconds))
  readonly release: WorkerStore['release'] = (owner) =>
    this.server.write(async (db) => {
      const released = (await db.first(sql.owner.release, owner)) !== undefined
      if (released) this.#lost.forget(owner)
      return released
    }, ANSWER_SECONDS)
  readonly leases: WorkerStore['leases'] = () => this.server.runOne((db) => db.get(Leases).list())

  readonly ownersOn: WorkerStore['ownersOn'] = async (machine) => {
    const leases = await this.leases()
    return leases.filter(({ claimed, host }) => !claimed && machineOf(host) === machine)
  }

  readonly unrenewed: WorkerStore['unrenewed'] = (since) =>
    this.server.read(async (db) => {
      const { stamp } = (await db.first<{ stamp: number }>(sql.owner.newestStamp)) as { stamp: number }
      const leases = since === null ? [] : await db.get(Leases).list()
      return { stamp, leases: leases.filter((lease) => !lease.claimed && lease.stamp <= (since as number)) }
    })

  /** An owner keeps its row while it has jobs, and there are no lists of names beside the tables, so there is nothing to tidy. */
  readonly tidy: WorkerStore['tidy'] = async () => []

  readonly claim: WorkerStore['claim'] = (owner, condition) => {
    const asked = performance.now()
    return this.server.write(async (db) => {
      const claimed = await db.get(Leases).claim(owner, condition, asked)
      if (claimed) await withLedgers(db, Date.now(), (ledgers) => db.get(Adding).interrupt(ledgers, owner))
      return claimed
    })
  }

  readonly orphaned: WorkerStore['orphaned'] = (limit, characters = Number.MAX_SAFE_INTEGER) => {
    type Row = { owner: string; queue: string; queueId: number; position: number; fetchNumber: number; text: string }
    return this.server.read(async (db) =>
      (await db.all<Row>(sql.owner.orphaned, limit, characters)).map(
        ({ owner, queue, queueId, position, fetchNumber, text }) => ({
          owner,
          queue: queueAt(queue, position),
          ticket: ticketOf({ queue: queueId, position, fetchNumber }),
          text,
        }),
      ),
    )
  }

  readonly rescue: WorkerStore['rescue'] = (items, now) =>
    applyAll(this.server, items, now, async (db, ledgers, some) => {
      // No job has the position of a malformed ticket.
      const parts = some.map(({ ticket }) => parseTicket(ticket) ?? { queue: 0, position: 0, fetchNumber: 0 })
      const removed = await db.all<{ nth: number }>(
        sql.owner.rescue,
        some.map(({ owner }) => owner),
        parts.map(({ queue }) => queue),
        parts.map(({ position }) => position),
        parts.map(({ fetchNumber }) => fetchNumber),
      )
      const isRemoved = some.map(() => false)
      for (const { nth } of removed) isRemoved[nth - 1] = true
      return moveAll(db, ledgers, some, isRemoved)
    })

  readonly renewer: WorkerStore['renewer'] = () => ({
    module: packageFile('store/postgres/workers/renewer.js').href,
    options: { ...this.server.options },
  })

  readonly acquireLock: WorkerStore['acquireLock'] = (name, holder, seconds) =>
    this.server.runOne(
      async (db) =>
        (await db.first(sql.owner.acquireLock, name, holder, seconds * 1000, seconds * 1000 * TIMES_TOO_LONG)) !==
        undefined,
    )

  readonly releaseLock: WorkerStore['releaseLock'] = (name, holder) =>
    this.server.runOne(async (db) => void (await db.run(sql.owner.releaseLock, name, holder)))
  readonly advice: WorkerStore['advice'] = async () => {
    const found = await this.server.runOne((db) =>
      durability(async (name) => (await db.first<{ value: string }>(sql.owner.setting, name))?.value ?? ''),
    )
    return found.map(({ text, advice }) => `${this.server.options.url}: ${text}: ${advice}`)
  }

  readonly heartbeat: WorkerStore['heartbeat'] = (process, seconds, running = []) => {
    const { identity, info, concurrency, busy, beat, quiet, rss } = process
    return this.server.write(async (db) => {
      const asked = performance.now()
      const figures = [concurrency, busy, beat, quiet ? 1 : 0, rss, seconds * 1000] as const
      const row = await db.first<{ known: boolean }>(sql.process.heartbeat, identity, info, ...figures)
      const rtt = performance.now() - asked
      await db.run(sql.process.deleteDead)
      await db.run(sql.process.deleteRunning, identity)
      if (running.length > 0) await db.run(sql.process.showRunning, identity, ...columnsOf(running))
      const signal = (await db.first<{ name: Signal }>(sql.process.receive, identity))?.name ?? null
      return { signal, known: row?.known ?? false, rtt }
    }, ANSWER_SECONDS)
  }

  readonly showRunning: WorkerStore['showRunning'] = (identity, _seconds, running, ended) =>
    this.server.write(async (db) => {
      if (ended.length > 0) await db.run(sql.process.removeRunning, identity, ended)
      if (running.length > 0) await db.run(sql.process.showRunning, identity, ...columnsOf(running))
    }, ANSWER_SECONDS)

  readonly processes: WorkerStore['processes'] = async () => {
    const rows = await this.server.runOne((db) => db.all<ProcessRecord>(sql.process.processes))
    return rows.map((process) => ({ ...process, quiet: Boolean(process.quiet) }))
  }

  readonly removeProcess: WorkerStore['removeProcess'] = (identity) =>
    this.server.write(async (db) => void (await db.run(sql.process.delete, identity)), ANSWER_SECONDS)

  readonly signal: WorkerStore['signal'] = (identity, signal) =>
    this.server.write(async (db) => (await db.run(sql.process.send, identity, signal)) > 0)

  readonly running: WorkerStore['running'] = async () => {
    type Row = Omit<RunningJob, 'progress'> & { identity: string; progress: string | null }
    const rows = await this.server.runOne((db) => db.all<Row>(sql.process.running))
    return rows.map(({ progress, ...job }) => (progress === null ? job : { ...job, progress: JSON.parse(progress) }))
  }

  readonly fetched: WorkerStore['fetched'] = ({ after = '0:0:0', limit }) => {
    type Row = OwnedJob & { ownerId: number; queueId: number; position: number }
    const from = after.split(':').map(Number) as [number, number, number]
    return this.server.read(async (db) => {
      const rows = await db.all<Row>(sql.owner.fetched, ...from, limit)
      const items = rows.map(
        ({ owner, queue, position, text }): OwnedJob => ({ owner, queue: queueAt(queue, position), text }),
      )
      const last = rows.at(-1)
      const next = last && rows.length === limit ? `${last.ownerId}:${last.queueId}:${last.position}` : null
      return { items, next }
    })
  }

  /** Sidekiq does not work on this store, so no program elects a leader. */
  readonly leader: WorkerStore['leader'] = async () => null

  /** Runs a part of a step. If its answer is lost, its settlements may be stored, although the step goes on. */
  async #settlePart(owner: string, part: SettleAndFetch, fetchNumber: number): Promise<SettleAndFetchAnswer> {
    try {
      return await this.server.write((db) => settleAndFetch(db, owner, part, fetchNumber))
    } catch (thrown) {
      if (isMaybeStored(thrown)) this.#lost.answerLost(owner, part.settlements)
      throw thrown
    }
  }
}

/** Returns the running jobs as columns. */
function columnsOf(running: readonly RunningJob[]) {
  return [
    running.map(({ slot }) => slot),
    running.map(({ queue }) => queue),
    running.map(({ text }) => text.toWellFormed()),
    running.map(({ startedAt }) => startedAt),
    running.map(({ progress }) => (progress === undefined ? null : JSON.stringify(progress))),
  ] as const
}
