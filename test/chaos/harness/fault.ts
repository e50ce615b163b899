import type { PlannedFault } from './plan.ts'

/** A kind of fault. The next fault of the same target waits until this one is over. */
export interface Fault {
  target: 'workers' | 'pushers' | 'server'
  inject(planned: PlannedFault): Promise<unknown>
}

/** Figures by name, of each unit. */
export type Figures = Record<Unit, Record<string, number>>
export type Unit = 'megabytes' | 'rows' | 'handles'

/** A store, and the faults that its server or disk can have. */
export interface Environment {
  /** How pushers and workers reach the store. */
  url: string
  /** How the harness reaches the store: no fault cuts its connections. */
  directUrl: string
  faults: Record<string, Fault>
  /** Measures what the store has: its size, its rows or keys, and its connections. */
  measure(): Promise<Figures>
  close(): Promise<void>
}

/** The shortest and longest fault of a server, of a disk, or of a process that may open no files, in milliseconds. */
export const FAULT_MS = [500, 2500] as const

export function millisecondsOf([least, most]: readonly [number, number], { part }: PlannedFault): number {
  return least + part * (most - least)
}
