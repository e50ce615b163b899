/** What keeps people from using a page, as axe sees it. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

/** The serious ones; none is the aim. `again` looks at what another theme changes: the colours alone. */
export async function barriers(page: Page, { again = false } = {}): Promise<string[]> {
  // The policy of the page lets no script in: it is put in from outside.
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
