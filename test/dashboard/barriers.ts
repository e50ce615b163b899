/** Finds barriers of accessibility on a page, with axe. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

/** Returns the serious barriers. With `again` it examines only the colours, which another theme changes. */
export async function barriers(page: Page, { again = false } = {}): Promise<string[]> {
  // The policy of the page allows no foreign script, so the browser adds it.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] ${again ? ", runOnly: ['color-contrast']" : ''} })`,
  )) as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    )
}
