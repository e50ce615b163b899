import type { Page } from 'playwright-core'

/** Returns a function that resolves with the clicks since its last call; the keyboard makes none. */
export async function countingClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`
    window.clicks = 0
    addEventListener('pointerdown', () => window.clicks++, true)
  `)
  return () => page.evaluate('(() => { const { clicks } = window; window.clicks = 0; return clicks })()')
}
