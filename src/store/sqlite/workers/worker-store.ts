import { HighkiqError } from '../../../job/errors.ts'
import { packageFile } from '../../../load/package.ts'
import {
  machineOf,
  type OwnedJob,
  type ProcessRecord,
  type RunningJob,
  type Signal,
  type WorkerStore,
} from '../../contract.ts'
import { settleOneByOne } from '../../sql/settle-one-by-one.ts'
import { bootId, endIn, isPast, monotonicNow } from '../file/clock.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { applyEach, move } from '../jobs/moves.ts'
import { withLedgers } from '../ledgers/ledgers.ts'
import { parseTicket, Queues, queueAt, ticketOf } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'
import { Adding } from '../tasks/adding.ts'
import { Leases } from './leases.ts'
import { MissingJobs, settleAndFetch } from './settle-and-fetch.ts'

/** The end of a lock, or the time until which a process is listed. */
interface End {
  boot: string
  ends: number
}

/** The most seconds for which a process is listed without a heartbeat, and a lock is held without a renewal. */
const MAX_SECONDS = 3600
/** The name of a claimed owner can't be used again for this long. */
const REMEMBERED_MS = 3_600_000

export class SqliteWorkerStore extends SqliteArea implements WorkerStore {
  readonly settleAndFetch: WorkerStore['settleAndFetch'] = async (owner, request) => {
    const write = (readsTicketsFirst: boolean) =>
      this.file.write((db) => settleAndFetch(db, owner, request, readsTicketsFirst))
    try {
      return await write(false).catch((thrown) => {
        if (thrown instanceof MissingJobs) return write(true)
        throw thrown
      })
    } catch (thrown) {
      if (thrown instanceof HighkiqError || request.started.length + request.settlements.length === 0) throw thrown
      return settleOneByOne(request, (part) => this.file.write((db) => settleAndFetch(db, owner, part, true)))
    }
  }

  readonly waitForJobs: WorkerStore['waitForJobs'] = async (_owner, queues, _n, ms, signal) => {
    const end = performance.now() + ms
    // A write of another process wakes all waiters; only those that find a job return to fetch it.
    while (!signal.aborted && !(await this.file.read((db) => db.get(Queues).hasJobs(queues)))) {
      const left = end - performance.now()
      if (left <= 0 || this.file.isClosed) break
      await this.file.wait(queues, left, signal)
    }
    return []
  }

  readonly join: WorkerStore['join'] = (owner, { seconds, host }) =>
    this.file.write((db) => {
      db.run(sql.owner.deleteOld, monotonicNow() - REMEMBERED_MS, bootId)
      return db.first(sql.owner.join, owner, host, bootId, endIn(seconds), seconds) !== undefined
    })

  readonly renew: WorkerStore['renew'] = (owner, seconds) =>
    this.file.write((db) => db.get(Leases).renew(owner, seconds))
  readonly release: WorkerStore['release'] = (owner) =>
    this.file.write((db) => db.first(sql.owner.release, owner) !== undefined, ANSWER_SECONDS)
  readonly leases: WorkerStore['leases'] = () => this.file.read((db) => db.get(Leases).list())

  readonly ownersOn: WorkerStore['ownersOn'] = async (machine) => {
    const leases = await this.leases()
    return leases.filter(({ claimed, host }) => !claimed && machineOf(host) === machine)
  }

  readonly unrenewed: WorkerStore['unrenewed'] = (since) =>
    this.file.read((db) => {
      const stamp = monotonicNow()
      const leases = since === null ? [] : db.get(Leases).list()
      return { stamp, leases: leases.filter((lease) => !lease.claimed && lease.stamp <= (since as number)) }
    })

  /** The tables refer to each other, so there is nothing to tidy. */
  readonly tidy: WorkerStore['tidy'] = async () => []

  readonly claim: WorkerStore['claim'] = (owner, condition) => {
    const asked = monotonicNow()
    return this.file.write((db) => {
      const claimed = db.get(Leases).claim(owner, condition, asked)
      if (claimed) withLedgers(db, Date.now(), (ledgers) => db.get(Adding).interrupt(ledgers, owner))
      return claimed
    })
  }

  readonly orphaned: WorkerStore['orphaned'] = (limit, characters = Number.MAX_SAFE_INTEGER) => {
    type Row = { owner: string; queue: string; queueId: number; position: number; text: string }
    return this.file.read((db) =>
      db.all<Row>(sql.owner.orphaned, limit, characters).map(({ owner, queue, queueId, position, text }) => ({
        owner,
        queue: queueAt(queue, position),
        ticket: ticketOf(queueId, position),
        text,
      })),
    )
  }

  readonly rescue: WorkerStore['rescue'] = (items, now) =>
    applyEach(this.file, items, now, (db, ledgers, { owner, ticket, to, effects }) => {
      const { queue, position } = parseTicket(ticket)
      if (!db.first(sql.owner.rescue, owner, queue, position)) return 'gone'
      move(db, ledgers, to, effects)
      return 'ok'
    })

  readonly renewer: WorkerStore['renewer'] = () => {
    if (this.file.options.path === ':memory:') return null
    return { module: packageFile('store/sqlite/workers/renewer.js').href, options: { ...this.file.options } }
  }

  readonly acquireLock: WorkerStore['acquireLock'] = (name, holder, seconds) =>
    this.file.write((db) => {
      const row = db.first<End & { holder: string }>(sql.owner.lock, name)
      if (row && row.holder !== holder && isCurrent(row)) return false
      db.run(sql.owner.acquireLock, name, holder, bootId, endIn(seconds))
      return true
    })

  readonly releaseLock: WorkerStore['releaseLock'] = (name, holder) =>
    this.file.write((db) => void db.run(sql.owner.releaseLock, name, holder), ANSWER_SECONDS)
  readonly advice: WorkerStore['advice'] = async () => []

  readonly heartbeat: WorkerStore['heartbeat'] = (process, seconds, running = []) => {
    const { identity, info, concurrency, busy, beat, quiet, rss } = process
    return this.file.write((db) => {
      const ends = endIn(seconds)
      const known = isAlive(db, identity)
      db.run(sql.process.heartbeat, identity, info, concurrency, busy, beat, quiet ? 1 : 0, rss, bootId, ends)
      db.run(sql.process.deleteDead, bootId, monotonicNow())
      db.run(sql.process.dropSignals)
      db.run(sql.process.dropRunning)
      db.run(sql.process.deleteRunning, identity)
      if (running.length > 0) db.run(sql.process.addRunning, identity, runningRows(running))
      const signal = db.first<{ name: Signal }>(sql.process.receive, identity)?.name ?? null
      return { signal, known, rtt: null }
    }, ANSWER_SECONDS)
  }

  readonly showRunning: WorkerStore['showRunning'] = (identity, _seconds, running, ended) =>
    this.file.write((db) => {
      if (ended.length > 0) db.run(sql.process.removeRunning, identity, JSON.stringify(ended))
      if (running.length > 0) db.run(sql.process.showRunning, identity, runningRows(running))
    }, ANSWER_SECONDS)

  readonly processes: WorkerStore['processes'] = async () => {
    type Row = ProcessRecord & End
    const rows = await this.file.read((db) => db.all<Row>(sql.process.processes))
    return rows.filter(isCurrent).map(({ boot, ends, ...process }) => ({ ...process, quiet: Boolean(process.quiet) }))
  }

  readonly removeProcess: WorkerStore['removeProcess'] = (identity) =>
    this.file.write((db) => {
      db.run(sql.process.delete, identity)
      db.run(sql.process.dropSignals)
      db.run(sql.process.dropRunning)
    }, ANSWER_SECONDS)

  readonly signal: WorkerStore['signal'] = (identity, signal) =>
    this.file.write((db) => isAlive(db, identity) && db.run(sql.process.send, identity, signal) > 0)

  readonly running: WorkerStore['running'] = async () => {
    type Row = Omit<RunningJob, 'progress'> & End & { identity: string; progress: string | null }
    const rows = await this.file.read((db) => db.all<Row>(sql.process.running))
    return rows
      .filter(isCurrent)
      .map(({ progress, boot, ends, ...job }) => (progress === null ? job : { ...job, progress: JSON.parse(progress) }))
  }

  readonly fetched: WorkerStore['fetched'] = ({ after = '0:0:0', limit }) => {
    type Row = OwnedJob & { ownerId: number; queueId: number; position: number }
    const from = after.split(':').map(Number) as [number, number, number]
    return this.file.read((db) => {
      const rows = db.all<Row>(sql.owner.fetched, ...from, limit)
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
}

/** Returns the running jobs as the statements take them. */
function runningRows(running: readonly RunningJob[]): string {
  return JSON.stringify(
    running.map(({ slot, queue, text, startedAt, progress = null }) => [
      ...[slot, queue, text.toWellFormed(), startedAt, progress],
    ]),
  )
}

/** Returns whether the process is still listed, or the lock is still held. */
function isCurrent({ boot, ends }: End): boolean {
  return !isPast(ends, boot, MAX_SECONDS)
}

function isAlive(db: Database, identity: string): boolean {
  const row = db.first<End>(sql.process.process, identity)
  return row !== undefined && isCurrent(row)
}
