/** Batches and flows that come as JSON. */

import { pushOf } from '../client/push-json.ts'
import type { PushRequest } from '../client/request.ts'
import { codeOf, HighkiqError } from '../job/errors.ts'
import { isObject } from '../job/json.ts'
import { given } from '../job/options.ts'
import type { Batches } from './batches.ts'
import type { OpenBatch } from './create.ts'
import type { BatchCallback, BatchOptions, FlowJob, FlowOptions } from './options.ts'

/** The most levels of a flow that are read; hq.flow takes fewer. */
const MOST_LEVELS = 1000

/** The jid of each job; null: middleware stopped it. `existing`: the positions of other jobs, which have the locks of these. */
interface Ids {
  jids: (string | null)[]
  existing?: number[]
}

/** The part of an app that creates batches. */
interface BatchApp {
  push(request: PushRequest): Promise<string | null>
  batch(options: BatchOptions, work: (batch: OpenBatch) => unknown): Promise<string>
  batches: Pick<Batches, 'add'>
}

interface JsonCallback {
  class: string
  args?: unknown[]
}

/** A batch whose jobs are as `pushOf` takes them. A callback gets the bid, and then its own arguments. */
export interface JsonBatch extends Pick<BatchOptions, 'description' | 'data'> {
  jobs: readonly unknown[]
  keep?: string | number
  onSuccess?: JsonCallback
  onComplete?: JsonCallback
  onDeath?: JsonCallback
}

/** A flow as JSON: its outermost job, with the children and the option `keep` of the flow. */
export interface JsonFlow {
  class: string
  keep?: string | number
  [member: string]: unknown
}

/** Creates a batch. @throws what hq.batch throws; the error of a job names its place */
export async function pushBatch(hq: BatchApp, body: JsonBatch): Promise<Ids & { bid: string }> {
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
export async function addJobs(hq: BatchApp, bid: string, jobs: readonly unknown[]): Promise<Ids> {
  const collected = new Collected(hq, jobs)
  await hq.batches.add(bid, (batch) => collected.push(batch))
  return collected.ids
}

/** Returns the flow that JSON describes, its options and all of its jobs. @throws INVALID_REQUEST */
export function flowOf({ keep, ...root }: JsonFlow): {
  flow: FlowJob
  options: FlowOptions
  jobs: { class: string }[]
} {
  const jobs: { class: string }[] = []
  const nodeOf = (body: unknown, path: string, depth = 1): FlowJob => {
    if (depth > MOST_LEVELS) throw invalidFlow('the flow has too many levels of children')
    if (!isObject(body)) throw invalidFlow(`${path} must be an object, for example { class: 'Render', args: [1] }`)
    const { children, onChildFailure, args = [], ...job } = body
    if (job.keep !== undefined) throw invalidFlow(`keep must be in the outermost job of a flow (found in ${path})`)
    if (children !== undefined && !Array.isArray(children))
      throw invalidFlow(`${path}.children must be an array of jobs`)
    const push = pushOf(job)
    jobs.push(push)
    return {
      job: { name: String(push.class), request: (args) => ({ ...push, args }) },
      args: args as unknown[],
      ...given({ onChildFailure: onChildFailure as FlowJob['onChildFailure'] }),
      children: (children ?? []).map((child, i) => nodeOf(child, `${path}.children[${i}]`, depth + 1)),
    }
  }
  return { flow: nodeOf(root, 'the flow'), options: given({ keep: keep as FlowOptions['keep'] }), jobs }
}

class Collected {
  readonly #hq: BatchApp
  readonly #jobs: readonly unknown[]
  readonly #jids: (string | null)[] = []
  #batch: OpenBatch | undefined

  constructor(hq: BatchApp, jobs: readonly unknown[]) {
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

function invalidFlow(message: string): HighkiqError {
  return new HighkiqError('INVALID_REQUEST', message)
}

/** Returns a job that is pushed with the bid before its own arguments. */
function callbackOf({ args = [], ...job }: JsonCallback): BatchCallback {
  const request = ([bid]: unknown[]) => ({ ...pushOf(job), args: [bid, ...args] })
  return { name: job.class, request } as unknown as BatchCallback
}
