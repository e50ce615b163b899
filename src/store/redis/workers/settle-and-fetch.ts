/**
 * Settles and fetches jobs by ticket: a script for each part of a worker's step, over one connection, in order. Most steps
 * only settle finished jobs and fetch others; they have a short script, because the server defines the functions of a
 * script anew at each call.
 */

import { isAscii } from 'node:buffer'
import { messageOf } from '../../../job/errors.ts'
import { baseQueue } from '../../../job/priority.ts'
import { fencedAnswer } from '../../contract/fenced-answer.ts'
import {
  type FinishedJob,
  hasOnlyRecords,
  packEvents,
  type SettleAndFetch,
  type SettleAndFetchAnswer,
  type Settlement,
} from '../../contract.ts'
import { packOf } from '../jobs/finished-jobs.ts'
import type { Pauses } from '../jobs/pauses.ts'
import { lua } from '../lua.generated.ts'
import { type Call, tasksOf } from '../server/call.ts'
import type { Connection } from '../server/connection.ts'
import type { Server } from '../server/server.ts'
import type { Texts } from '../server/texts.ts'
import { MAX_QUEUES, type Owner, rangesOf, reserveTickets, serverTicket, sortByQueue } from './owner.ts'
import { contentOf, type Part, type PartContent, type PartQueue, type Pending } from './part-content.ts'
import { MAX_BYTES, partsOf } from './step-parts.ts'

/** Up to this many bytes the texts of an answer are slices of one string. */
const MAX_SHARED_BYTES = 100_000

export class SettleAndFetchScript {
  readonly #server: Server
  readonly #connection: () => Connection
  readonly #pauses: Pauses
  readonly #onFailed: () => void

  /** `onFailed` is called when a script has failed. The server may have carried it out. */
  constructor(server: Server, connection: () => Connection, pauses: Pauses, onFailed: () => void) {
    this.#server = server
    this.#connection = connection
    this.#pauses = pauses
    this.#onFailed = onFailed
  }

  /** Whether a step needs no `prepare`: there is a connection, and the step names no task. */
  isPrepared({ settlements, started }: SettleAndFetch): boolean {
    return this.#connection().isReady && started.length === 0 && !settlements.some(mayNameTask)
  }

  /** Connects, and reads the tasks that a step names. */
  async prepare({ settlements, started }: SettleAndFetch): Promise<void> {
    const connection = this.#connection()
    if (!connection.isReady) await connection.ready()
    const others = settlements.filter(mayNameTask)
    if (started.length + others.length === 0) return
    const branches = others.flatMap(({ also = [] }) => also)
    await this.#server.loadTasks(tasksOf([...started, ...others, ...branches]))
  }

  /**
   * Sends a step that was prepared. `owner` may hold jobs of all queues of the step. When a part fails after others have fetched
   * jobs and recorded all starts, the settlements of that part and of the later ones answer `unknown`.
   */
  async run(owner: Owner, step: SettleAndFetch): Promise<SettleAndFetchAnswer> {
    const { fetch, settlements, started } = step
    const connection = this.#connection()
    const fetched = owner.drainUndelivered(fetch.queues, fetch.n)
    const undelivered = fetched.length
    const answer: SettleAndFetchAnswer = {
      fenced: false,
      started: started.map(() => 'ok'),
      settled: settlements.map(() => 'fenced'),
      fetched,
      cancellations: 0,
    }
    const answered = { parts: 0, started: 0, settlements: 0 }
    try {
      for (const part of partsOf(owner, step, fetch.n - undelivered)) {
        if (!(await this.#call(connection, owner, step, part, answer))) {
          owner.forget()
          return fencedAnswer(step)
        }
        answered.parts++
        answered.started += part.started.length
        answered.settlements += part.settlements.length
      }
    } catch (thrown) {
      this.#onFailed()
      const areStarted = answered.started === started.filter((one) => !hasOnlyRecords(one)).length
      if (answered.parts === 0 || !areStarted || fetched.length === 0) {
        this.#undo(owner, step, answer)
        throw thrown
      }
      // The fetched jobs are returned at once, so that those of later steps do not overtake them.
      answer.settled.fill('unknown', answered.settlements)
      answer.problem = messageOf(thrown)
    }
    if (undelivered > 0) sortByQueue(fetched, fetch.queues)
    return answer
  }

  /** After a failed part the caller repeats the whole step, so the answers of the earlier parts are kept here. */
  #undo(owner: Owner, { settlements }: SettleAndFetch, { settled, fetched }: SettleAndFetchAnswer): void {
    owner.addUndelivered(...fetched)
    for (const [at, { queue, ticket }] of settlements.entries()) {
      if (settled[at] !== 'ok') continue
      owner.jobs.set(ticket, { queue, ticket: Number(ticket), arrival: undefined, isUncertain: true, call: 0 })
    }
  }

  /** Returns false when the owner is fenced. Reduces `part.n` by the number of fetched jobs. */
  async #call(
    connection: Connection,
    owner: Owner,
    step: SettleAndFetch,
    part: Part,
    answer: SettleAndFetchAnswer,
  ): Promise<boolean> {
    const content = contentOf(owner, step, part, (task) => this.#server.queuesOf(task) !== undefined)
    const { queues, groups, others } = content
    const first = reserveTickets(part.n)
    const range = [first, first + part.n - 1] as const
    const call = content.isPlain
      ? this.#plainCall(owner, step, part, content, first)
      : this.#fullCall(owner, step, part, content, first)

    owner.pendingTickets.add(range)
    const pending = groups.flatMap(({ ends }) => ends).concat(others)
    for (const { job } of pending) job.isUncertain = true
    for (const { done } of queues) for (const job of done) job.isUncertain = true
    let reply: Buffer | Buffer[]
    try {
      reply = await connection.runForBytes<Buffer | Buffer[]>(scriptOf(content), call.keys, call.args)
    } catch (thrown) {
      for (const { name, arrivals } of queues) owner.addSettledArrivals(name, ...arrivals)
      throw thrown
    } finally {
      // Nothing is awaited from here on, so LostAnswers sees these tickets either pending or known.
      owner.pendingTickets.delete(range)
    }
    if (!Array.isArray(reply)) return false
    this.#apply({ owner, step, part, content, pending, first, reply, answer })
    return true
  }

  /** Returns the call of the short scripts, for steps without effects. `first` is the first of the reserved tickets. */
  #plainCall(owner: Owner, { now }: SettleAndFetch, part: Part, { queues, records }: PartContent, first: number): Call {
    const { keys } = this.#server
    const call = this.#server.newCall()
    call.keys.push(keys.processed(), keys.processed(dayOf(now)), keys.leases, keys.paused, keys.cancellationVersion)
    if (records.length > 0) {
      call.keys.push(...keys.recording)
      call.add(now, records.length, packEvents(records))
    }
    for (const { name } of queues) call.keys.push(keys.queue(name), keys.working(name, owner.name))
    call.add(owner.name, serverTicket(first), part.n, MAX_BYTES, owner.largestBytes)
    call.add(part.asked, ...part.queues.slice(0, part.asked).map(baseQueue))
    this.#addPacks(call, queues, [])
    for (const { done } of queues) call.add(rangesOf(done))
    return call
  }

  /** Adds what `readPacks` in step.lua reads. */
  #addPacks(call: Call, queues: readonly PartQueue[], others: readonly Pending[]): void {
    const kept = queues.filter(({ finished }) => finished.length > 0)
    if (kept.length === 0 && !others.some(keptJob)) {
      call.add(0)
      return
    }
    const [, ...packs] = this.#server.keys.finished
    call.add(call.inARow(packs), kept.length)
    for (const { number, finished } of kept) call.add(number, ...packOf(finished))
  }

  #fullCall(
    owner: Owner,
    { now, started }: SettleAndFetch,
    part: Part,
    { queues, groups, others, records }: PartContent,
    first: number,
  ): Call {
    const { keys, texts } = this.#server
    const day = dayOf(now)
    const call = this.#server.newCall()
    // The first keys, and those of each queue, have fixed positions.
    call.keys.push(keys.processed(), keys.failed(), keys.processed(day), keys.failed(day))
    call.keys.push(keys.queues, keys.leases, keys.paused, keys.cancellationVersion)
    for (const { name } of queues) {
      call.keys.push(keys.queue(name), keys.working(name, owner.name), keys.arriving(name, owner.name))
      call.keys.push(keys.settled(name, owner.name))
    }
    call.add(now, owner.name, keys.dueChannel, serverTicket(first), part.n, MAX_BYTES, owner.largestBytes)
    call.add(queues.length, part.asked, ...part.queues.slice(0, part.asked).map(baseQueue))
    this.#addPacks(call, queues, others)
    for (const { done, arrivals } of queues) {
      call.add(rangesOf(done), arrivals.length, ...arrivals.map(serverTicket))
    }
    call.add(part.started.length + (records.length > 0 ? 1 : 0))
    for (const at of part.started) call.effects(started[at]?.effects ?? [])
    if (records.length > 0) call.effects(records)
    call.add(groups.length)
    for (const { queue, task, run, attempt, jobs, rows } of groups) {
      call.add(queue.number, call.task(task) as number, run, attempt, rangesOf(jobs), JSON.stringify(rows))
    }
    call.add(others.length)
    for (const { job, settlement } of others) {
      const { number } = queues.find(({ name }) => name === job.queue) as PartQueue
      const source = job.arrival === undefined ? 'ticket' : 'arrival'
      call.add(number, source, serverTicket(job.ticket), texts.write(job.arrival ?? ''))
      const kept = keptJob({ settlement })
      call.add(settlement.processed, settlement.failed, ...(kept ? [1, ...packOf([kept])] : [0]))
      call.item(kept ? null : settlement.move, settlement.effects)
      call.branches(settlement.also)
    }
    return call
  }

  /** Applies the answer of a script to the owner, to the part and to the answer of the step. */
  #apply({ owner, step, part, content: { queues, groups }, pending, first, reply, answer }: PartAnswer): void {
    // The lengths are numbers with commas.
    const lengths = JSON.parse(`[${reply[6] ?? ''}]`) as number[]
    const fetchedTexts = textsOf(this.#server.texts, reply[7] as Buffer, lengths)
    const [missing = '', problem, version, counts = '', more, paused, , , begun, ended = ''] = reply.map((bytes, i) =>
      i === 7 ? '' : bytes.toString(),
    )
    const asked = part.queues.slice(0, part.asked)
    answer.cancellations = Number(version) || 0
    if (part.n > 0)
      for (const [i, queue] of asked.entries()) this.#pauses.observe(baseQueue(queue), paused?.[i] === '1')
    for (const [i, at] of part.started.entries()) if (begun?.[i] === 's') answer.started[at] = 'superseded'
    const gone = missing.split(',')
    let lost = 0
    for (const { number, done, indexes } of queues) {
      const refused = gone[number - 1] === 'e'
      if (!refused) lost += Number(gone[number - 1])
      for (const at of indexes) {
        answer.settled[at] = refused ? 'error' : 'ok'
        if (!refused) owner.jobs.delete((step.settlements[at] as Settlement).ticket)
      }
      if (refused) for (const job of done) job.isUncertain = false
    }
    const letters = groups.map(({ ends }, i) => ended[i]?.repeat(ends.length)).join('') + ended.slice(groups.length)
    for (const [i, { at, job, settlement, wasUncertain }] of pending.entries()) {
      const letter = letters[i]
      if (letter === 'e') {
        job.isUncertain = wasUncertain
        answer.settled[at] = 'error'
        continue
      }
      owner.jobs.delete(settlement.ticket)
      // A job that is gone after a settlement without an answer: that settlement was applied.
      answer.settled[at] = letter === 'o' || wasUncertain ? 'ok' : 'fenced'
      // The server need not remember a settlement that was sent once and answered. An earlier request may still arrive.
      if (letter === 'o' && job.arrival !== undefined && !wasUncertain) owner.addSettledArrivals(job.queue, job.ticket)
    }
    let next = 0
    const counted = counts.split(',')
    for (const [i, count] of counted.entries()) {
      const queue = asked[i] as string
      for (const end = next + Number(count); next < end; next++) {
        answer.fetched.push(owner.hold(queue, first + next, fetchedTexts[next] as string))
      }
    }
    if (lengths.length > 0) owner.largestBytes = Math.max(...lengths, 1)
    part.n -= fetchedTexts.length
    part.more = more === 'more'
    if (part.asked > 0) owner.queuesToFill = part.n > 0 ? MAX_QUEUES : Math.max(counted.length, owner.queuesToFill - 1)
    const problems = [
      ...(problem ? [problem] : []),
      ...(lost > 0 ? [`${lost} jobs that ended were not there any more: has the server lost data?`] : []),
    ]
    if (problems.length > 0) answer.problem = problems.join('\n')
  }
}

/** A script's answer, with what was sent. */
interface PartAnswer {
  owner: Owner
  step: SettleAndFetch
  part: Part
  content: PartContent
  /** In the order of the answers. */
  pending: readonly Pending[]
  first: number
  reply: Buffer[]
  answer: SettleAndFetchAnswer
}

/** Returns a job that is kept in the set of finished jobs. */
function keptJob({ settlement: { move } }: Pick<Pending, 'settlement'>): FinishedJob | undefined {
  return move?.to === 'finished' ? move : undefined
}

function mayNameTask(settlement: Settlement): boolean {
  return settlement.also !== undefined || !hasOnlyRecords(settlement)
}

function scriptOf({ records, isPlain }: PartContent) {
  if (!isPlain) return lua.settleAndFetch
  return records.length > 0 ? lua.settleAndFetchRecorded : lua.settleAndFetchPlain
}

const DAY_MS = 86_400_000
/** The last day that `dayOf` was asked for. */
let day = { number: Number.NaN, name: '' }

/** Returns the UTC day of a time in milliseconds, as in `2026-01-31`. */
function dayOf(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (number !== day.number) day = { number, name: new Date(ms).toISOString().slice(0, 10) }
  return day.name
}

/** Splits the joined texts of an answer; `lengths` are in bytes. */
function textsOf(texts: Texts, joined: Buffer, lengths: readonly number[]): string[] {
  // A slice keeps the whole string in memory, so only short answers are sliced.
  const all = joined.length <= MAX_SHARED_BYTES && isAscii(joined) ? joined.toString('latin1') : undefined
  let end = 0
  return lengths.map((length) => {
    const from = end
    end += length
    return all?.slice(from, end) ?? texts.read(joined.subarray(from, end))
  })
}
