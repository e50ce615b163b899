/** Collects the pushes of the function of a batch until it has returned, so that an error in it pushes nothing. */

import type { Bulk } from '../client/bulk.ts'
import { collectEach, OpenSteps } from '../client/open-steps.ts'
import type { OrderedNames } from '../client/ordered-names.ts'
import type { OrderedPushRequest, PushPipe, PushTarget } from '../client/push-target.ts'
import type { PushRequest } from '../client/request.ts'
import { invalidOption } from '../job/errors.ts'
import type { Payload } from '../job/payload.ts'
import type { BatchPush, BatchSpec, NewMember } from '../store/contract.ts'

/** The most jobs that one call collects, the characters of their texts, and the most batches in it. */
const MOST_JOBS = 1_000_000
const MOST_CHARACTERS = 500_000_000
const MOST_BATCHES = 10_000

export class BatchTarget implements PushTarget, BatchPush {
  readonly bid: string
  readonly orderedNames: OrderedNames | undefined
  readonly batches: BatchSpec[] = []
  readonly members: NewMember[] = []
  /** See OpenBatch. */
  readonly dropped = new Map<string, string>()
  readonly #steps = new OpenSteps('its batch')
  #characters = 0

  constructor(bid: string, orderedNames: OrderedNames | undefined) {
    this.bid = bid
    this.orderedNames = orderedNames
  }

  /** Resolves when the job is collected; null when middleware stopped it. An error fails the batch, too. */
  push(pipe: PushPipe, request: PushRequest): Promise<string | null> {
    return this.track(() => this.#collect(pipe, request))
  }

  pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]> {
    return this.track(() => collectEach(pipe, bulk, (...push) => this.#collect(...push)))
  }

  pushOrdered({ name }: OrderedPushRequest): Promise<never> {
    return this.#refuse(
      `${name} is an ordered queue, whose items can't be in a batch: push them outside of its function`,
    )
  }

  apart(what: string): Promise<never> {
    return this.#refuse(`${what} can't be part of a batch: call it outside of the function of hq.batch`)
  }

  /** Runs a step of the function. The batch waits for it, and fails with it. */
  track<T>(work: () => Promise<T>): Promise<T> {
    return this.#steps.track(work)
  }

  /** Adds a member. @throws INVALID_OPTION when there are too many */
  add(member: NewMember): void {
    this.#characters += member.item?.text.length ?? 0
    this.members.push(member)
    if (this.members.length <= MOST_JOBS && this.#characters <= MOST_CHARACTERS) return
    const most = `${MOST_JOBS.toLocaleString('en')} jobs, or ${MOST_CHARACTERS / 1e6} MB`
    throw invalidOption(
      `a batch takes at most ${most}, in one call: add the others from its jobs with ctx.batch.add, or use a task`,
    )
  }

  /** Adds a batch; its members come later. @throws INVALID_OPTION when there are too many */
  addBatch(batch: BatchSpec): void {
    this.batches.push(batch)
    if (this.batches.length <= MOST_BATCHES) return
    const most = MOST_BATCHES.toLocaleString('en')
    throw invalidOption(
      `one call stores at most ${most} batches and jobs with children: let a callback or a job create the others`,
    )
  }

  /** Forgets what was collected. */
  clear(): void {
    this.batches.length = 0
    this.members.length = 0
  }

  /** Waits for all steps. @throws the first error of a push, also when the function has caught it */
  close(): Promise<void> {
    return this.#steps.close()
  }

  async #collect(pipe: PushPipe, request: PushRequest): Promise<string | null> {
    const payload = pipe.normalise(request)
    refuseTracked(payload)
    const onConflict = lockConflict(pipe, request, payload)
    payload.bid = this.bid
    const passed = await pipe.pass(payload)
    if (!passed) return null
    const { jid, destination } = pipe.write(passed)
    this.add({ bid: this.bid, id: jid, item: destination, onConflict })
    return jid
  }

  #refuse(message: string): Promise<never> {
    return this.track(() => Promise.reject(invalidOption(message)))
  }
}

/** @throws INVALID_OPTION for a tracked job */
export function refuseTracked({ class: name, hk_task }: Payload): void {
  if (hk_task === undefined) return
  throw invalidOption(`${name}: a tracked job can't be in a batch or flow: push it with set({ track: false })`)
}

/**
 * Returns what happens to a job of a batch while another job has its lock; undefined for a job without one.
 * @throws INVALID_OPTION for a conflict that changes the other job: no batch would wait for it
 */
export function lockConflict(
  pipe: Pick<PushPipe, 'conflict'>,
  request: PushRequest,
  { class: name, hk_unique }: Payload,
): NewMember['onConflict'] {
  if (hk_unique === undefined) return undefined
  const conflict = pipe.conflict(request)
  if (conflict === 'drop' || conflict === 'raise') return conflict
  throw invalidOption(
    `${name}: onConflict: '${conflict}' does not work in a batch, which would not wait for the job that gets the arguments: use 'drop' or 'raise'`,
  )
}
