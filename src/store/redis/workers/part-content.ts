/** Sorts the settlements of a worker's step by what a script has to do for them. */

import { splitTaskJid } from '../../../job/payload.ts'
import {
  type EventEffect,
  type FinishedJob,
  hasOnlyRecords,
  type RecordEffect,
  type SettleAndFetch,
  type Settlement,
} from '../../contract.ts'
import type { HeldJob, Owner } from './owner.ts'

/** One script settles or fetches at most this many jobs. */
export const MAX_ITEMS = 200

/** The part of a step that one script carries out. */
export interface Part {
  /** Events to record, besides those of the settlements. */
  records: readonly RecordEffect[]
  queues: readonly string[]
  started: number[]
  /** Indexes of the step's settlements. */
  settlements: number[]
  n: number
  /** Whether the queues have more jobs, which were too large for one answer. */
  more?: boolean
  /** How many of the queues, from the first on, are fetched from. */
  asked: number
}

/** A settlement for which the script answers. */
export interface Pending {
  /** Its index in the step. */
  at: number
  job: HeldJob
  settlement: Settlement
  wasUncertain: boolean
}

/** A queue of a part, with its number for the script. */
export interface PartQueue {
  number: number
  name: string
  /** The jobs that are simply done, and the indexes of their settlements in the step. */
  done: HeldJob[]
  indexes: number[]
  /** The ones that go to the set of finished jobs. */
  finished: FinishedJob[]
  /** Tickets of settled arrivals that the server need not remember any more. */
  arrivals: number[]
}

/** Rows of one task that finished in the same run and attempt. See finished-rows.lua. */
interface RowGroup {
  queue: PartQueue
  task: string
  run: number
  attempt: number
  jobs: HeldJob[]
  /** Four values for each range of rows: at, startedAt or 0, first index, number of rows. */
  rows: number[]
  ends: Pending[]
}

/** What one script settles. */
export interface PartContent {
  queues: PartQueue[]
  groups: RowGroup[]
  others: Pending[]
  /** The events to record of the part, and of the jobs that are simply done. */
  records: RecordEffect[]
  /** Whether a short script can carry it out. */
  isPlain: boolean
}

/** The number of the last call. */
let lastCall = 0

/**
 * Sorts the settlements of a part. A ticket that this owner does not have, or that occurs twice, is left out. `hasTask` tells
 * whether the queues of a task are known.
 */
export function contentOf(
  owner: Owner,
  { settlements }: SettleAndFetch,
  part: Part,
  hasTask: (task: string) => boolean,
): PartContent {
  const queues = new Map<string, PartQueue>()
  const queueOf = (name: string) => {
    const known = queues.get(name)
    if (known) return known
    const queue = { number: queues.size + 1, name, done: [], indexes: [], finished: [], arrivals: [] }
    queues.set(name, queue)
    return queue
  }
  for (const name of part.queues) queueOf(name)
  const groups: RowGroup[] = []
  const others: Pending[] = []
  const records = [...part.records]
  const number = ++lastCall
  for (const at of part.settlements) {
    const settlement = settlements[at] as Settlement
    const job = owner.jobs.get(settlement.ticket)
    if (!job || job.call === number) continue
    job.call = number
    const queue = queueOf(job.queue)
    const wasUncertain = job.isUncertain
    const isCertain = job.arrival === undefined && !wasUncertain
    const { move } = settlement
    if (isCertain && (move === null || move.to === 'finished') && isSuccess(settlement) && hasOnlyRecords(settlement)) {
      // Such a job is still the owner's, unless the server has lost data.
      addRecords(records, settlement)
      queue.done.push(job)
      queue.indexes.push(at)
      if (move) queue.finished.push(move)
      continue
    }
    const row = isCertain ? finishedRow(settlement) : undefined
    const group = row && groupOf(groups, queue, row, hasTask)
    const end = { at, job, settlement, wasUncertain }
    if (group) addRow(group, row, end)
    else others.push(end)
  }
  for (const queue of queues.values()) queue.arrivals = owner.drainSettledArrivals(queue.name, MAX_ITEMS)
  const all = [...queues.values()]
  const isPlain =
    part.started.length + groups.length + others.length === 0 && all.every(({ arrivals }) => arrivals.length === 0)
  return { queues: all, groups, others, records, isPlain }
}

function addRecords(records: RecordEffect[], { effects }: Settlement): void {
  if (effects) for (const one of effects) if (one.kind === 'record') records.push(one)
}

/** Returns the group of a row, which it adds if it is new; undefined when the row's task does not exist. */
function groupOf(
  groups: RowGroup[],
  queue: PartQueue,
  { jid, run, attempt }: EventEffect,
  hasTask: (task: string) => boolean,
): RowGroup | undefined {
  const known = groups.find(
    (one) => jid.startsWith(one.task) && one.run === run && one.attempt === attempt && one.queue === queue,
  )
  if (known) return known
  const { id: task } = splitTaskJid(jid)
  if (!hasTask(task)) return undefined
  const group = { queue, task, run, attempt, jobs: [], rows: [], ends: [] }
  groups.push(group)
  return group
}

/** Adds a row to its group; rows with consecutive indexes and the same times are written together. */
function addRow(group: RowGroup, { jid, at, startedAt = 0 }: EventEffect, end: Pending): void {
  const { jobs, rows, ends } = group
  const { index } = splitTaskJid(jid)
  jobs.push(end.job)
  ends.push(end)
  const last = rows.length - 4
  const count = rows[last + 3] as number
  if (at === rows[last] && startedAt === rows[last + 1] && index === (rows[last + 2] as number) + count)
    rows[last + 3] = count + 1
  else rows.push(at, startedAt, index, 1)
}

/** Returns the effect of a row that finished without messages, when it is the only effect. */
function finishedRow(settlement: Settlement): EventEffect | undefined {
  if (settlement.move !== null || !isSuccess(settlement) || settlement.effects?.length !== 1) return undefined
  const [effect] = settlement.effects
  if (effect?.kind !== 'event' || effect.status !== 'finished' || effect.window !== 'leave') return undefined
  return effect.code || effect.result || effect.messages?.length ? undefined : effect
}

function isSuccess({ also, processed, failed }: Settlement): boolean {
  return !also?.length && processed === 1 && failed === 0
}
