import { describe, type TestOptions, test } from 'vitest'
import { type Program, reasonVariable } from './program.ts'

/**
 * Registers a suite that needs programs of others. Where one can't be used (see `install.ts`) it is skipped by its name,
 * with the reason; in CI, where nobody would see that, it fails.
 */
export function suiteWith(programs: Program[], name: string, suite: () => void, options: TestOptions = {}): void {
  const reason = programs.map((program) => process.env[reasonVariable(program)]).find(Boolean)
  if (!reason) {
    describe(name, options, suite)
  } else if (process.env.CI) {
    test(name, () => {
      throw new Error(reason)
    })
  } else {
    test.skip(`${name} – skipped: ${reason}`, () => {})
  }
}
