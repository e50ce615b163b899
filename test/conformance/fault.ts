import type { Store } from '#dist/store/contract.js'
import type { Replacement } from '../replaced-store.ts'
import type { Case } from './bench.ts'

/** A store that is broken on purpose, and the cases that must see it. */
export interface Fault {
  name: string
  /** Puts the fault between the suite and a healthy store. */
  wrap: (store: Store) => Replacement
  cases: Case[]
  /** The cases that must fail, of those. */
  seen: string[]
}
