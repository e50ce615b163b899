import { describe, test } from 'vitest'

/**
 * Registers a suite that needs a Redis server. Where there is none (see `install.ts`) it is skipped by its name, with the
 * reason; in CI, where nobody would see that, it fails.
 */
export function onRedis(name: string, suite: () => void): void {
  const reason = process.env.HIGHKIQ_TEST_NO_REDIS
  if (!reason) {
    describe(name, suite)
  } else if (process.env.CI) {
    test(name, () => {
      throw new Error(reason)
    })
  } else {
    test.skip(`${name} – skipped: ${reason}`, () => {})
  }
}
