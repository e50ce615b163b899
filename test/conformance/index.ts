/**
 * The cases that every store must pass. They are the definition of a store.
 *
 * @module highkiq/store/conformance
 * @example
 * import { describe, test } from 'node:test' // or from 'vitest'
 * import { conformance } from 'highkiq/store/conformance'
 * import './mysql-store.js' // calls registerStore('mysql', …)
 * conformance({ describe, test }, 'MySQL', { shared: true, create: emptyDatabase })
 */

import { type Case, withBench } from './bench.ts'
import type { StoreFactory } from './factory.ts'
import { areas } from './suite.ts'

export type { AppClient, EmptyStore, StoreFactory } from './factory.ts'

/** The part of a test runner that registers the cases: that of node:test, of vitest, or one like them. */
export interface TestRunner {
  describe(name: string, register: () => void): unknown
  /** `timeout` is in milliseconds. */
  test(name: string, options: { timeout: number }, run: () => Promise<void>): unknown
}

export interface CaseInfo {
  /** The area of the contract, such as `jobs`. Models of whole lives are in `taskModels` and `orderedModels`. */
  area: string
  name: string
  /** The index in its area. */
  index: number
  /** Whether the case has a time limit of its own, because it kills processes, uses large amounts or runs a model. */
  isLong: boolean
}

/** Registers the cases as tests, each with an empty store of its own. `isIncluded` selects some of them. */
export function conformance(
  { describe, test }: TestRunner,
  title: string,
  factory: StoreFactory,
  isIncluded: (about: CaseInfo) => boolean = () => true,
): void {
  describe(title, () => {
    for (const [area, all] of Object.entries<Case[]>(areas)) {
      const cases = all.filter(({ name, seconds, shared }, index) => {
        const about = { area, name, index, isLong: seconds !== undefined }
        return (factory.shared || !shared) && isIncluded(about)
      })
      if (cases.length === 0) continue
      describe(area, () => {
        for (const one of cases) {
          test(one.name, { timeout: 1000 * (one.seconds ?? 60) }, () => withBench(factory, (t) => one.run(t)))
        }
      })
    }
  })
}
