/** Batches and flows that come as JSON. */

import type { BatchCallback, FlowJob, Highkiq, OpenBatch } from '../../index.ts'
import { codeOf, HighkiqError } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import type { Json } from '../schemas.ts'
import { invalid } from '../server/answer.ts'
import { pushOf } from './jobs.ts'

/** The most levels of a flow that are read; hq.flow takes fewer. */
const MOST_LEVELS = 1000

/** The jid of each job; null: middleware stopped it. `existing`: the positions of other jobs, which have the locks of these. */
interface Ids {
  jids: (string | null)[]
  existing?: number[]
}

/** Creates a batch. @throws what hq.batch throws; the error of a job names its place */
export async function pushBatch(hq: Highkiq, body: Json<'NewBatch'>): Promise<Ids & { bid: string }> {
  const { jobs, onSuccess, onComplete, onDeath, ...options } = body
  const collected = new Collected(hq, jobs)
  const callbacks = Object.entries({ onSuccess, onComplete, onDeath }).map(([when, job]) => [
    when,
    job && callbackOf(job),
  ])
  const all = { ...options, ...given(Object.fromEntries(callbacks)) }
  const bid = await hq.batch(all as object, (batch) => collected.push(batch))
  return { bid, ...collected.ids }
}

/** Adds jobs to a batch. @throws what hq.batches.add throws; the error of a job names its place */
export async function addJobs(hq: Highkiq, bid: string, jobs: readonly unknown[]): Promise<Ids> {
  const collected = new Collected(hq, jobs)
  await hq.batches.add(bid, (batch) => collected.push(batch))
  return collected.ids
}

/** Pushes a flow. `count` is the number of its jobs that are stored. @throws what hq.flow throws */
export async function pushFlow(
  hq: Highkiq,
  body: unknown,
): Promise<{ jid: string | null; bid: string | null; count: number }> {
  let count = 0
  const nodeOf = (body: unknown, path: string, depth = 1): FlowJob => {
    if (depth > MOST_LEVELS) throw invalid('the flow has too many levels of children')
    if (!isObject(body)) throw invalid(`${path} must be an object, for example { class: 'Render', args: [1] }`)
    const { children, onChildFailure, args = [], ...job } = body
    if (children !== undefined && !Array.isArray(children)) throw invalid(`${path}.children must be an array of jobs`)
    const push = pushOf(job)
    count++
    return {
      job: { name: String(push.class), request: (args) => ({ ...push, args }) },
      args: args as unknown[],
      ...given({ onChildFailure: onChildFailure as FlowJob['onChildFailure'] }),
      children: (children ?? []).map((child, i) => nodeOf(child, `${path}.children[${i}]`, depth + 1)),
    }
  }
  const flow: FlowJob = nodeOf(body, 'the flow')
  const pushed = await hq.flow(flow)
  return pushed ? { ...pushed, count } : { jid: null, bid: null, count: 0 }
}

class Collected {
  readonly #hq: Highkiq
  readonly #jobs: readonly unknown[]
  readonly #jids: (string | null)[] = []
  #batch: OpenBatch | undefined

  constructor(hq: Highkiq, jobs: readonly unknown[]) {
    this.#hq = hq
    this.#jobs = jobs
  }

  async push(batch: OpenBatch): Promise<void> {
    this.#batch = batch
    for (const [index, job] of this.#jobs.entries()) {
      try {
        this.#jids.push(await this.#hq.push(pushOf(job)))
      } catch (thrown) {
        const code = codeOf(thrown)
        if (!code) throw thrown
        const { message, details } = thrown as HighkiqError
        throw new HighkiqError(code, `jobs[${index}]: ${message}`, { ...details, index }, { cause: thrown })
      }
    }
  }

  /** The ids of the jobs once the batch is stored. */
  get ids(): Ids {
    const dropped = this.#batch?.dropped
    const holderOf = (jid: string | null) => (jid === null ? undefined : dropped?.get(jid))
    const existing = this.#jids.flatMap((jid, i) => (holderOf(jid) === undefined ? [] : i))
    const jids = this.#jids.map((jid) => holderOf(jid) ?? jid)
    return { jids, ...(existing.length > 0 ? { existing } : {}) }
  }
}

/** Returns a job that is pushed with the bid before its own arguments. */
function callbackOf({ args = [], ...job }: { args?: unknown[]; class: string }): BatchCallback {
  const request = ([bid]: unknown[]) => ({ ...pushOf(job), args: [bid, ...args] })
  return { name: job.class, request } as unknown as BatchCallback
}
