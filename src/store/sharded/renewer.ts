/** Renews the leases on all shards, in the lease thread. */

import type { Renewer } from '../contract.ts'
import { outcomesInTime } from './in-time.ts'
import { isShardFailure } from './shard-failure.ts'

type Renew = (owner: string, seconds: number, isWanted: () => boolean) => Promise<boolean>

interface OpenRenewer {
  renew: Renew
  close(): Promise<void>
}

export async function openRenewer({ renewers }: { renewers: readonly Renewer[] }): Promise<OpenRenewer> {
  const all = await Promise.all(
    renewers.map(async ({ module, options }) => {
      const { openRenewer } = (await import(module)) as {
        openRenewer(options: Record<string, unknown>): Promise<OpenRenewer>
      }
      return openRenewer(options)
    }),
  )
  const renewals = new Renewals(
    all.map(
      (one): Renew =>
        (owner, seconds, isWanted) =>
          one.renew(owner, seconds, isWanted),
    ),
  )
  return {
    renew: (owner, seconds, isWanted) => renewals.renew(owner, seconds, isWanted),
    async close() {
      await Promise.all(all.map((one) => one.close()))
    },
  }
}

interface Owner {
  /** The shards that have renewed its lease. */
  renewed: Set<number>
  /** The renewals that have no answer yet, by shard. */
  pending: Map<number, Promise<boolean>>
  isLost: boolean
}

/** Renews the leases of owners on all shards. A shard that does not answer does not delay the others. */
export class Renewals {
  readonly #shards: readonly Renew[]
  readonly #owners = new Map<string, Owner>()
  readonly #isJoined: (name: string, index: number) => boolean

  /** `isJoined` says whether an owner has joined a shard. The lease thread does not know it, but renews from the beginning. */
  constructor(shards: readonly Renew[], isJoined: (name: string, index: number) => boolean = () => false) {
    this.#shards = shards
    this.#isJoined = isJoined
  }

  /**
   * Resolves with false when the owner has lost its lease on a shard that it had joined, or that had renewed it. Leaves out
   * shards that fail; rejects if all do.
   */
  async renew(name: string, seconds: number, isWanted: () => boolean = () => true): Promise<boolean> {
    const owner = this.#owners.get(name) ?? { renewed: new Set(), pending: new Map(), isLost: false }
    this.#owners.set(name, owner)
    const calls = this.#shards.map((renew, index) => {
      const known = owner.pending.get(index)
      if (known) return known
      const hadLease = owner.renewed.has(index) || this.#isJoined(name, index)
      const call = renew(name, seconds, isWanted).finally(() => owner.pending.delete(index))
      owner.pending.set(index, call)
      call.then(
        (isHeld) => {
          if (isHeld) owner.renewed.add(index)
          else owner.isLost ||= hadLease || owner.renewed.has(index)
        },
        () => {},
      )
      return call
    })
    const outcomes = await outcomesInTime(calls)
    const failures = outcomes.flatMap((one) => (one?.status === 'rejected' ? [one.reason] : []))
    const other = failures.find((thrown) => !isShardFailure(thrown))
    if (other !== undefined) throw other
    if (failures.length === calls.length) throw failures[0]
    const isHeld = !owner.isLost && outcomes.some((one) => one?.status === 'fulfilled' && one.value)
    if (!isHeld) this.forget(name)
    return isHeld
  }

  forget(name: string): void {
    this.#owners.delete(name)
  }
}
