import type { Strike } from './plan.ts'

/** A fault, and whom it befalls: the next one of the same victim waits until it is over. */
export interface Fault {
  victim: 'workers' | 'pushers' | 'server'
  strike(strike: Strike): Promise<unknown>
}

/** A store with all that can befall it. */
export interface Scene {
  /** How pushers and workers reach the store. */
  url: string
  /** A way on which the store is always calm. */
  calmUrl: string
  faults: Record<string, Fault>
  close(): Promise<void>
}

/** How long a fault of a server lasts. */
export const PAUSED_MS = [500, 2500] as const

export function millisecondsOf([least, most]: readonly [number, number], { part }: Strike): number {
  return least + part * (most - least)
}
