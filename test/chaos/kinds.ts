import type { EventStatus } from '#dist/store/contract.js'

/** What a job of the chaos tests leaves behind, whatever befell it on its way. */
export interface Kind {
  /** How often its handler must run. */
  runs: number
  /** How often it counts. */
  processed: number
  failed: number
  /** Whether it ends in the dead set. */
  dead: boolean
  /** What becomes of its event, when it is the row of a task. */
  status: EventStatus
}

const FINE: Kind = { runs: 1, processed: 1, failed: 0, dead: false, status: 'finished' }

export const KINDS = {
  fine: FINE,
  /** Fails at first and is retried soon. */
  once: { ...FINE, runs: 2, processed: 2, failed: 1 },
  /** Fails whenever it runs. */
  broken: { runs: 2, processed: 2, failed: 2, dead: true, status: 'error' },
  killed: { ...FINE, failed: 1, dead: true, status: 'error' },
  discarded: { ...FINE, failed: 1, status: 'cancelled' },
  refused: { ...FINE, status: 'failed' },
  snoozed: { ...FINE, runs: 2 },
  released: { ...FINE, runs: 2 },
} satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS

/** The kinds of jobs, again and again in this order. */
export type Mix = readonly KindName[]

function mixOf(shares: Partial<Record<KindName, number>>): Mix {
  return Object.entries(shares).flatMap(([name, share]) => Array.from({ length: share }, () => name as KindName))
}

export const ALL_KINDS = mixOf({
  fine: 26,
  once: 4,
  snoozed: 3,
  released: 2,
  refused: 2,
  broken: 1,
  killed: 1,
  discarded: 1,
})
export const MOSTLY_FINE = mixOf({ fine: 97, once: 2, refused: 1 })

/** Of the job with this number: neighbours are of different kinds. */
export function kindOf(n: number, mix: Mix): KindName {
  return mix[(n * 7) % mix.length] as KindName
}
