/** Renews the leases on all shards, in the lease thread. */

import { isUnreachable } from '../../job/errors.ts'
import type { Renewer } from '../contract.ts'

interface OpenRenewer {
  renew(owner: string, seconds: number, isWanted: () => boolean): Promise<boolean>
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
  return {
    renew: (owner, seconds, isWanted) => renewAll(all.map((one) => () => one.renew(owner, seconds, isWanted))),
    async close() {
      await Promise.all(all.map((one) => one.close()))
    },
  }
}

/**
 * Renews the leases of an owner on all shards. Resolves with false when it has lost one. Leaves out shards that can't
 * be reached; rejects if none can.
 */
export async function renewAll(renewals: readonly (() => Promise<boolean>)[]): Promise<boolean> {
  const answers = await Promise.allSettled(renewals.map((renew) => renew()))
  const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
  const failure = failures.find((thrown) => !isUnreachable(thrown)) ?? failures[0]
  if (failure !== undefined && (failures.length === answers.length || !isUnreachable(failure))) throw failure
  return answers.every((answer) => answer.status === 'rejected' || answer.value)
}
