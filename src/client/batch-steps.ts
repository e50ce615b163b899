/**
 * Stores more jobs of batches than a store takes in one step. Placeholders, members that are no jobs, keep the batches open
 * meanwhile. When the process dies, the maintenance of batches does not find them, so they fail, and their batches end as failed.
 */

import { messageOf, PushError } from '../job/errors.ts'
import {
  type BatchPush,
  type BatchRefusal,
  type NewMember,
  NOTHING_REFUSED,
  newPlaceholder,
  type RefusedPush,
  type Store,
} from '../store/contract.ts'
import { resend } from './resend.ts'

/** The most jobs that are stored in one step, and the characters of their texts. */
const MOST_AT_ONCE = 10_000
const MOST_CHARACTERS = 64_000_000
/** One of several steps stores fewer, so that other calls need not wait long for it. */
const STEP = 1000
const STEP_CHARACTERS = 8_000_000

export function isLarge({ members }: BatchPush): boolean {
  if (members.length > MOST_AT_ONCE) return true
  return members.reduce((sum, member) => sum + lengthOf(member), 0) > MOST_CHARACTERS
}

/** Called after each stored step. `refused` is empty when the step was stored by an earlier call whose answer was lost. */
type OnStored = (step: BatchPush, refused: readonly RefusedPush[]) => Promise<void>

/**
 * Resolves with the jobs that were refused because of a lock, or with why the push was refused: then nothing is stored.
 * @throws PushError, also when some jobs are stored
 */
export async function putInSteps(
  store: Store,
  { batches, members }: BatchPush,
  now: () => number,
  onStored: OnStored = async () => {},
): Promise<BatchRefusal | readonly RefusedPush[]> {
  const jobs = jobsIn(members)
  const refusal = repeatedIn(members) ?? (await lockedIn(store, jobs, now()))
  if (refusal) return refusal
  const steps = new PushInSteps(store, now, onStored)
  const outermost = outermostOf({ batches, members })
  const [bid = ''] = outermost
  const placeholders = Array.from(bidsOf({ batches, members }), (one) => steps.newPlaceholder(one))
  const first = await steps.put({ batches, members: [...placeholders, ...members.filter(({ item }) => !item)] })
  if ('reason' in first) return first
  const refused: RefusedPush[] = []
  let stored = 0
  let step: NewMember[] = []
  try {
    for (step of stepsOf(jobs)) {
      const own = steps.newPlaceholder(bid)
      const answer = await steps.put({ batches: [], members: [own, ...step] })
      if ('reason' in answer) throw new PushError(reasonOf(answer), [], false)
      for (const one of answer) refused.push(one)
      stored += step.length
      step = []
      await steps.end([own], 'withdrawn')
    }
    await steps.end(placeholders, 'withdrawn')
    return refused
  } catch (thrown) {
    await steps.fail()
    throw partlyStored(thrown, { outermost, jobs, stored, unsure: step.length, refused })
  }
}

/** The steps of one push, with the placeholders that keep its batches open. */
class PushInSteps {
  readonly #store: Store
  readonly #now: () => number
  readonly #onStored: OnStored
  readonly #open = new Set<NewMember>()

  constructor(store: Store, now: () => number, onStored: OnStored) {
    this.#store = store
    this.#now = now
    this.#onStored = onStored
  }

  /** Returns a placeholder, to be put into its batch. */
  newPlaceholder(bid: string): NewMember {
    const one = { bid, id: newPlaceholder(), item: null }
    this.#open.add(one)
    return one
  }

  /** Stores one step. The first member belongs to no other step, so a batch that has it already has the whole step. */
  async put(step: BatchPush): Promise<BatchRefusal | readonly RefusedPush[]> {
    const answer = await resend(() => this.#store.batches.push(step, this.#now()))
    const [first] = step.members
    const isRepeated =
      answer === 'exists' || ('reason' in answer && answer.reason === 'repeated' && answer.member === first?.id)
    const refused = isRepeated ? NOTHING_REFUSED : answer
    if (!('reason' in refused)) await this.#onStored(step, refused)
    return refused
  }

  /** Ends placeholders, so that their batches can end. @throws PushError when a worker has ended the push */
  async end(placeholders: readonly NewMember[], change: 'withdrawn' | 'failed'): Promise<void> {
    let isLost = false
    for (let from = 0; from < placeholders.length; from += STEP) {
      const some = placeholders.slice(from, from + STEP)
      if (!(await endSome(this.#store, some, change, this.#now))) isLost = true
      for (const one of some) this.#open.delete(one)
    }
    // The jobs of these batches are still stored, and the batches end.
    if (isLost) throw new PushError(LOST, [], false)
  }

  /** Lets the batches end as failed. */
  async fail(): Promise<void> {
    await this.end([...this.#open], 'failed').catch(() => {})
  }
}

/** How far a push came. */
interface Progress {
  outermost: readonly string[]
  jobs: readonly NewMember[]
  stored: number
  /** The number of jobs of the step that failed. */
  unsure: number
  refused: readonly RefusedPush[]
}

/** Returns the error of a push whose first jobs are stored. */
function partlyStored(thrown: unknown, { outermost, jobs, stored, unsure, refused }: Progress): PushError {
  const maybe = thrown instanceof PushError && !thrown.maybePushed ? 0 : unsure
  const dropped = new Set(refused.map(({ item }) => item))
  const idsOf = (some: readonly NewMember[]) => some.map(({ id }) => id)
  const message = `${messageOf(thrown)}. ${whatToDo(outermost, stored, jobs.length)}`
  return new PushError(message, idsOf(jobs.slice(stored)), true, {
    cause: thrown instanceof PushError ? thrown.cause : thrown,
    bid: outermost[0] ?? '',
    notPushed: idsOf(jobs.slice(stored + maybe)),
    pushed: idsOf(jobs.slice(0, stored).filter(({ item }) => item && !dropped.has(item))),
  })
}

function bidsOf({ batches, members }: BatchPush): Set<string> {
  return new Set([...batches, ...members].map(({ bid }) => bid))
}

/** Returns the batches of a push that are in no other one of these. */
export function outermostOf(push: BatchPush): string[] {
  const bids = bidsOf(push)
  const parents = new Map(push.batches.map(({ bid, parent }) => [bid, parent]))
  return [...bids].filter((bid) => !bids.has(parents.get(bid) ?? ''))
}

const LOST = 'this process was stopped for so long that a worker has ended the push'

/** Ends placeholders. Resolves with whether they were open, or, after a lost answer, whether their batches may still succeed. */
async function endSome(
  store: Store,
  placeholders: readonly NewMember[],
  change: 'withdrawn' | 'failed',
  now: () => number,
): Promise<boolean> {
  const effects = placeholders.map(({ bid, id: member }) => ({ kind: 'batch' as const, bid, member, change }))
  let calls = 0
  const wereOpen = await resend(() => {
    calls++
    return store.batches.apply(effects, now()).catch(asPushError)
  })
  const others = placeholders.filter((_, i) => !wereOpen[i])
  if (change === 'failed' || others.length === 0) return true
  if (calls === 1) return false
  for (const { bid } of others) if ((await store.batches.find(bid))?.failed) return false
  return true
}

function whatToDo(bids: readonly string[], stored: number, all: number): string {
  const [bid = ''] = bids
  if (bids.length === 1) {
    return `Batch ${bid} has ${stored} of ${all} jobs and ends without success: cancel it with hq.batches.cancel('${bid}')`
  }
  const names = bids.join(', ')
  return `Batches ${names} have ${stored} of ${all} jobs and end without success: cancel each with hq.batches.cancel(bid)`
}

function* stepsOf(jobs: readonly NewMember[]): Generator<NewMember[]> {
  let step: NewMember[] = []
  let characters = 0
  for (const job of jobs) {
    if (step.length === STEP || (step.length > 0 && characters + lengthOf(job) > STEP_CHARACTERS)) {
      yield step
      step = []
      characters = 0
    }
    step.push(job)
    characters += lengthOf(job)
  }
  if (step.length > 0) yield step
}

function lengthOf({ item }: NewMember): number {
  return item?.text.length ?? 0
}

/** Returns the members that are jobs. One with a lock that comes twice is stored once, unless that refuses the push. */
function jobsIn(members: readonly NewMember[]): NewMember[] {
  const locked = new Set<string>()
  return members.filter(({ id, item, onConflict }) => {
    if (!item?.unique || onConflict === 'raise') return item !== null
    if (locked.has(id)) return false
    locked.add(id)
    return true
  })
}

/** Returns the refusal of the first member that comes twice. A job with its own lock is stored once instead. */
function repeatedIn(members: readonly NewMember[]): BatchRefusal | undefined {
  const seen = new Set<string>()
  for (const { bid, id: member, item } of members) {
    if (item?.unique) continue
    if (seen.has(`${bid} ${member}`)) return { reason: 'repeated', bid, member }
    seen.add(`${bid} ${member}`)
  }
  return undefined
}

/** Returns the refusal of the first job whose lock must be free and is not. Another push may take it later. */
async function lockedIn(store: Store, jobs: readonly NewMember[], now: number): Promise<BatchRefusal | undefined> {
  const locks = jobs.flatMap(({ item }) => (item?.unique ? item.unique.claims.map(({ key }) => key) : []))
  const isStrict = jobs.some(({ onConflict }) => onConflict === 'raise')
  const holders = new Map<string, string>()
  for (let from = 0; isStrict && from < locks.length; from += STEP) {
    const some = locks.slice(from, from + STEP)
    for (const [i, lock] of (await store.unique.find(some, now)).entries()) {
      if (lock) holders.set(some[i] as string, lock.holder)
    }
  }
  for (const { bid, id: member, item, onConflict } of jobs) {
    for (const { key } of item?.unique?.claims ?? []) {
      const holder = holders.get(key)
      if (holder !== undefined && onConflict === 'raise') return { reason: 'held', bid, member, holder }
      if (holder === undefined) holders.set(key, member)
    }
  }
  return undefined
}

function reasonOf({ reason, bid, member, holder }: BatchRefusal): string {
  switch (reason) {
    case 'held':
      return `not pushed, because job ${holder} has the lock of job ${member}`
    case 'repeated':
      return `not pushed, because job ${member} is in batch ${bid} already`
    case 'cancelled':
      return `not pushed, because batch ${bid} was cancelled`
    case 'ended':
      return `not pushed, because batch ${bid} has ended`
    case 'unknown':
      return `not pushed, because there is no batch ${bid} any more`
    case 'too-deep':
      return `not pushed, because batch ${bid} would be inside too many others`
  }
}

function asPushError(thrown: unknown): never {
  throw new PushError(messageOf(thrown), [], true, { cause: thrown })
}
