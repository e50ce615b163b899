/** Who owns jobs, for how long, and what becomes of them when an owner dies. */

import type { Effect } from './effect.ts'
import type { Destination } from './job.ts'
import type { SwapAnswer } from './set.ts'

export interface Lease {
  owner: string
  /** The host as given to `join`: its first line names the machine, the rest is opaque to the store. */
  host: string
  /** Seconds for which the lease holds after each renewal. */
  seconds: number
  /** The stamp of the newest renewal; see `unrenewed`. */
  renewed: number
  /** End of the lease on the store's clock: compare only for equality. */
  ends: number
  /**
   * Whether the end is past on the store's clock. Only for display: that clock may be set, so it never decides a claim.
   */
  ended: boolean
  claimed: boolean
}

/** Returns the machine of an owner, from the first line of its host; '' when that names none. */
export function machineOf(host: string): string {
  return host.split('\n', 1)[0] as string
}

export interface Stranded {
  owner: string
  queue: string
  ticket: string
  text: string
}

export interface Restore {
  owner: string
  queue: string
  ticket: string
  /** null: the job is dropped. */
  to: Destination | null
  effects?: Effect[]
}

/**
 * What a lease thread needs to renew on its own: `module` exports `openRenewer(options)`, which answers an object with
 * `renew(owner, seconds)` (false: lost) and `close()`. Both must survive `postMessage`.
 */
export interface Renewer {
  module: string
  options: Record<string, unknown>
}

export interface Joining {
  queues: readonly string[]
  seconds: number
  host: string
  /** The owner takes jobs, and puts those of dead owners back. */
  isWorker?: boolean
}

export interface LeaseVerbs {
  /**
   * Enters an owner, before its first take. `host` says where it runs, for those who can tell that it died. An owner's
   * name is never used twice: one that is known, or was claimed within the last hour, is refused (false).
   * @throws STORE_UNUSABLE with `retryAfterMs` for a worker, while a lease has not ended that an older version keeps
   * elsewhere in the store
   */
  join(owner: string, about: Joining): Promise<boolean>
  /** Sets the end of the lease to now + seconds, also when it had ended. False: the owner is claimed or unknown. */
  renew(owner: string, seconds: number): Promise<boolean>
  /** Strikes the owner off, if it holds no job; else false and nothing changes: it will be claimed. */
  leave(owner: string): Promise<boolean>
  leases(): Promise<Lease[]>
  /** Lists the owners on this machine (see `machineOf`) that are not claimed. */
  ownersOn(machine: string): Promise<Pick<Lease, 'owner' | 'host'>[]>
  /**
   * Returns the stamp of the newest renewal or join. Each later one gets a greater stamp, even when the store's clock
   * is set. With `since`, also returns the unclaimed leases that were not renewed after that stamp.
   */
  unrenewed(since: number | null): Promise<{ stamp: number; leases: Lease[] }>
  /**
   * Goes through the whole store, so call it rarely. It drops names of queues and owners that are gone, and returns the
   * owners that hold jobs without a lease; claim those with the end 0.
   */
  tidy(): Promise<string[]>
  /**
   * Takes the lease away for good: from then on the owner's turns are fenced and its jobs can be restored. With `ends`,
   * only if the lease still ends there; null claims an owner that is known to be dead. Tasks that the owner was
   * adding rows to become `interrupted`.
   */
  claim(owner: string, ends: number | null): Promise<boolean>
  /** Jobs of claimed owners, newest first per queue, so that restoring to the front in this order keeps their order. */
  stranded(limit: number): Promise<Stranded[]>
  /** Moves jobs of claimed owners. Atomic per job. `gone`: restored by another, or the owner is not claimed. */
  restore(items: Restore[], now: number): Promise<SwapAnswer[]>
  /** For the lease thread; null: the main thread renews. */
  renewer(): Renewer | null
  /** A lease on a duty that one process at a time should do. True: held (or still held) by `holder` for `seconds`. */
  hold(duty: string, holder: string, seconds: number): Promise<boolean>
  /** Gives a duty up, if `holder` has it. */
  letGo(duty: string, holder: string): Promise<void>
}
