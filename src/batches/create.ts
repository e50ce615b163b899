/** Creates batches, adds to them, and creates flows. A batch inside the function of another one is stored with it. */

import type { AppPort } from '../app/port.ts'
import type { Job } from '../client/job.ts'
import { uniqueConflict } from '../client/refused-push.ts'
import { withJidLock } from '../client/request.ts'
import { timelessRecord } from '../events/job-event.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { batchJobText, newTaskId, type Payload, readPayload } from '../job/payload.ts'
import { NOT_RUN, writeEnd } from '../job/result.ts'
import type {
  BatchJob,
  BatchJobEvents,
  BatchPush,
  BatchRefusal,
  NewMember,
  ParentEnds,
  ParentJob,
  RefusedPush,
} from '../store/contract.ts'
import { BatchTarget, lockConflict, refuseTracked } from './batch-target.ts'
import { batchJid } from './jids.ts'
import {
  type BatchCallback,
  type BatchOptions,
  checkFlow,
  type FlowJob,
  type FlowOptions,
  readBatchOptions,
  readFlowOptions,
  TOO_DEEP,
} from './options.ts'

/** How a job went to the dead set, as its payload and its parent's notes say. */
const CHILD_FAILED = { class: 'ChildFailed', message: 'a child of this job is dead, or ended without success' }

/** The batch that the function of `hq.batch` gets, and to which its pushes are added. */
export interface OpenBatch {
  readonly bid: string
  /**
   * The unique jobs that were dropped, by jid; the value is the jid of the job that has the lock: another job, or the
   * same job by an earlier push. Empty until the call has resolved. Those of a nested batch are in the map of the outer
   * one. Some are missing when an answer of the store was lost and the batch was sent again.
   */
  readonly dropped: ReadonlyMap<string, string>
}

/** Creates a batch with the jobs that `work` pushes. @returns its bid; @throws what `work` throws; then nothing is stored */
export async function createBatch(
  app: AppPort,
  options: BatchOptions,
  work: (batch: OpenBatch) => unknown,
): Promise<string> {
  const { keep } = readBatchOptions(options)
  if (typeof work !== 'function') {
    throw invalidOption('hq.batch: the second argument must be a function that pushes the jobs of the batch')
  }
  let bid = ''
  await storeBatches(app, undefined, async (own, outer) => {
    bid = own.bid
    const parent = outer?.bid ?? null
    const [onComplete, onSuccess, onDeath] = await Promise.all(
      (['onComplete', 'onSuccess', 'onDeath'] as const).map((which) => {
        const job = options[which]
        return job ? callbackOf(app, job, bid, batchJid(bid, which), parent) : null
      }),
    )
    const callbacks = { onComplete, onSuccess, onDeath } as Record<
      'onComplete' | 'onSuccess' | 'onDeath',
      BatchJob | null
    >
    // Client middleware may have stopped a callback, which the batch then does not name.
    const passed = Object.entries(options).filter(([name]) => callbacks[name as keyof typeof callbacks] !== null)
    const { meta } = readBatchOptions(Object.fromEntries(passed))
    own.addBatch({ bid, parent, meta, ...callbacks, job: null, keep, createdAt: app.now() })
    if (outer) outer.add({ bid: outer.bid, id: bid, item: null })
    await app.client.inBatch(own, () => work({ bid, dropped: own.dropped }))
  })
  return bid
}

/**
 * Adds the jobs that `work` pushes to a batch.
 * @throws BATCH_ENDED, UNKNOWN_BATCH, and what `work` throws; then nothing is stored
 */
export async function addToBatch(app: AppPort, bid: string, work: (batch: OpenBatch) => unknown): Promise<void> {
  if (typeof work !== 'function') {
    throw invalidOption('ctx.batch.add and hq.batches.add take a function that pushes the jobs to add')
  }
  await storeBatches(app, bid, (own) => app.client.inBatch(own, () => work({ bid, dropped: own.dropped })))
}

/** A flow that was pushed. */
export interface PushedFlow {
  /** The job that runs last. */
  jid: string
  /** The batch of its children; null for a job without children. */
  bid: string | null
}

/** Creates a flow. null: client middleware stopped a job, and nothing is stored. */
export async function createFlow(app: AppPort, root: FlowJob, options: FlowOptions = {}): Promise<PushedFlow | null> {
  checkFlow(root)
  const keep = readFlowOptions(options)
  const isAlone = !root.children?.length && !(app.client.target instanceof BatchTarget)
  if (isAlone) {
    const jid = await app.client.push(root.job.request((root.args ?? []) as never))
    return jid === null ? null : { jid, bid: null }
  }
  let pushed: PushedFlow | null = null
  await storeBatches(app, undefined, async (own, outer) => {
    pushed = await new Flow(app, own, keep).add(root, outer?.bid)
    if (!pushed) own.clear()
  })
  return pushed
}

/**
 * Runs `fill` with a target, and stores what it has collected: with the batch around it, if there is one. Without `bid` the target
 * has that of a new batch.
 */
async function storeBatches(
  app: AppPort,
  bid: string | undefined,
  fill: (own: BatchTarget, outer: BatchTarget | undefined) => Promise<unknown>,
): Promise<void> {
  const { target, direct } = app.client
  const outer = target instanceof BatchTarget ? target : undefined
  const collect = async () => {
    const own = new BatchTarget(bid ?? newTaskId(outer?.bid), direct.orderedNames)
    await fill(own, outer)
    await own.close()
    return own
  }
  if (outer) {
    await outer.track(async () => {
      const own = await collect()
      for (const batch of own.batches) outer.addBatch(batch)
      for (const member of own.members) outer.add(member)
    })
  } else if (target.pushBatch) {
    await target.pushBatch(async () => {
      const own = await collect()
      return { to: 'batch', push: own, answered: (answer) => noteDropped(own, answer) }
    })
  } else {
    await target.apart('a batch', async () => {
      const own = await collect()
      noteDropped(own, await direct.putBatch(own))
    })
  }
}

/** @throws why the batch was refused */
function noteDropped(own: BatchTarget, answer: BatchRefusal | readonly RefusedPush[]): void {
  if ('reason' in answer) throw refused(answer, own)
  const holders = new Map(answer.map(({ item, holder }) => [item, holder]))
  for (const { id, item } of answer.length > 0 ? own.members : []) {
    const holder = item && holders.get(item)
    if (holder) own.dropped.set(id, holder)
  }
}

function refused({ reason, bid, member, holder = '' }: BatchRefusal, { members }: BatchPush): HighkiqError {
  switch (reason) {
    case 'held': {
      const text = members.find((one) => one.bid === bid && one.id === member)?.item?.text ?? '{}'
      return uniqueConflict(readPayload(text)?.class ?? 'a job', holder)
    }
    case 'unknown':
      return unknownBatch(bid)
    case 'ended':
      return new HighkiqError(
        'BATCH_ENDED',
        `batch ${bid} takes no more jobs, because all of its jobs have ended: add jobs from a job of the batch that is running`,
        { bid },
      )
    case 'cancelled':
      return new HighkiqError('BATCH_ENDED', `batch ${bid} takes no more jobs, because it was cancelled`, { bid })
    case 'repeated':
      return invalidOption(
        `job ${member} would be in batch ${bid} twice, and its first end would count for both: leave out jid, or push it once`,
      )
    case 'too-deep':
      return invalidOption(TOO_DEEP)
  }
}

export function unknownBatch(bid: string): HighkiqError {
  return new HighkiqError('UNKNOWN_BATCH', `no batch ${bid}: it has ended and is kept no longer, or the bid is wrong`, {
    bid,
  })
}

/** Returns a job that a batch pushes when it ends. It passes the client middleware now; null when that stops it. */
async function callbackOf(
  { client }: AppPort,
  job: BatchCallback,
  bid: string,
  jid: string,
  parent: string | null,
): Promise<BatchJob | null> {
  const request = (job as Job<[string]>).request([bid])
  if (request.jid !== undefined)
    throw invalidOption(`${job.name}: a callback of a batch gets a jid of its own: leave jid out`)
  client.refuseUniqueCallback(request, 'a callback of a batch')
  const payload = client.normalise({ ...request, jid, track: false, unique: false })
  refuseDelay(payload, 'a callback of a batch')
  if (parent !== null) payload.bid = parent
  const passed = await client.pass(payload)
  return passed && jobOf(client, passed)
}

function jobOf(client: AppPort['client'], payload: Payload): BatchJob & { events: BatchJobEvents } {
  const { jid, destination } = client.write(payload)
  const events = { pushed: timelessRecord('pushed', payload) }
  return { jid, queue: payload.queue, text: batchJobText(destination.text, client.wire), events }
}

/** @throws INVALID_OPTION */
function refuseDelay({ class: name, at }: Payload, what: string): void {
  if (at !== undefined)
    throw invalidOption(`${name}: ${what} can't be scheduled: it is pushed when the other jobs have ended`)
}

/** @throws INVALID_OPTION for a job of a flow that can't be unique */
function refuseDropped(
  { class: name }: Payload,
  isParent: boolean,
  onConflict: NewMember['onConflict'],
  place: number | undefined,
): void {
  const hint = 'push it with set({ unique: false })'
  const details = { problem: 'unique', job: name }
  if (isParent) throw invalidOption(`${name}: a job with children can't be unique: ${hint}`, details)
  if (place === undefined || onConflict === 'raise') return
  const why = 'because its parent would get no result of a job that is dropped'
  const message = `${name}: a child in a flow can't be unique, ${why}: ${hint}, or with onConflict: 'raise'`
  throw invalidOption(message, details)
}

class Flow {
  readonly #app: AppPort
  readonly #own: BatchTarget
  readonly #keep: number

  constructor(app: AppPort, own: BatchTarget, keep: number) {
    this.#app = app
    this.#own = own
    this.#keep = keep
  }

  /** Adds a job with all its children. `place` is its number among the children of its parent. */
  async add(node: FlowJob, bid?: string, place?: number): Promise<PushedFlow | null> {
    const { client, now } = this.#app
    const { job, args = [], children = [], onChildFailure = 'fail' } = node
    const own = children.length > 0 ? newTaskId(this.#own.bid) : undefined
    const request = withJidLock(job.request(args as never))
    if (own !== undefined && request.jid !== undefined) {
      throw invalidOption(`${job.name}: a job with children gets a jid of its own: leave jid out`)
    }
    const payload = client.normalise(own === undefined ? request : { ...request, jid: batchJid(own, 'job') })
    refuseTracked(payload)
    if (own !== undefined) refuseDelay(payload, 'a job with children')
    const onConflict = lockConflict(client, request, payload)
    if (payload.hk_unique !== undefined) refuseDropped(payload, own !== undefined, onConflict, place)
    Object.assign(payload, bid === undefined ? {} : { bid }, place === undefined ? {} : { hk_child: place })
    if (own !== undefined) payload.hk_children = own
    const passed = await client.pass(payload)
    if (!passed) return null
    const { jid, destination } = client.write(passed)
    if (own === undefined) {
      this.#own.add({ bid: bid as string, id: jid, item: destination, onConflict })
      return { jid, bid: null }
    }
    const note =
      place === undefined ? undefined : { key: String(place), text: JSON.stringify({ failed: CHILD_FAILED }) }
    const pushed = jobOf(client, passed)
    const parent: ParentJob = {
      ...pushed,
      events: {
        ...pushed.events,
        dead: timelessRecord('died', passed, { error: CHILD_FAILED, reason: 'failed' }),
        cancelled: timelessRecord('cancelled', passed, { reason: 'cancelled' }),
      },
      onChildFailure,
      failure: FAILURE,
      note,
      ends: this.#endsOf(passed),
    }
    const about = { bid: own, parent: bid ?? null, keep: this.#keep, createdAt: now() }
    const batch = { ...about, onComplete: null, onSuccess: null, onDeath: null, job: parent, meta: '' }
    this.#own.addBatch(batch)
    if (bid !== undefined) this.#own.add({ bid, id: jid, item: null })
    const known: object[] = []
    for (const [i, child] of children.entries()) {
      const added = await this.add(child, own, i)
      if (!added) return null
      known.push({ job: child.job.name, jid: added.jid, ...(added.bid === null ? {} : { bid: added.bid }) })
    }
    batch.meta = JSON.stringify({ description: job.name, children: known })
    return { jid, bid: own }
  }

  /** Returns what `hq.result` finds when the parent does not run; undefined for one that keeps no result. */
  #endsOf({ class: name, wrapped }: Payload): ParentEnds | undefined {
    const seconds = this.#app.registry.get(wrapped ?? name)?.options.keepResult
    return seconds === undefined ? undefined : { seconds, ...PARENT_ENDS }
  }
}

const PARENT_ENDS = {
  dead: writeEnd({ failed: CHILD_FAILED }),
  cancelled: writeEnd({ failed: NOT_RUN.cancelled }),
}

const FAILURE = `"error_class":${JSON.stringify(CHILD_FAILED.class)},"error_message":${JSON.stringify(CHILD_FAILED.message)}`
