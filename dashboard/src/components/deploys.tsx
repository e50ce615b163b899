/** The deploys in a chart: the list of its numbered flags. */

import type { Throughput } from '../api/types.ts'
import { at, queryValue } from '../base.ts'
import { clock } from '../format/time.ts'
import { t } from '../i18n/index.ts'

export type Deploy = Throughput['deploys'][number]

/** The most deploys that are listed below a chart: the newest ones. */
const MOST = 6

/** Returns the address of the page that compares the runs before and after a deploy. */
function deployPath(deploy: Pick<Deploy, 'at'>): string {
  return at(`/deploys?at=${queryValue(deploy.at)}`)
}

export function DeployList({ deploys }: { deploys: readonly Deploy[] }) {
  if (deploys.length === 0) return null
  const left = Math.max(deploys.length - MOST, 0)
  return (
    <ol class="marks" aria-label={t('deploys.title')}>
      {deploys.slice(left).map((deploy, i) => (
        <li key={deploy.at}>
          <a href={deployPath(deploy)}>
            <b class="flag">{left + i + 1}</b>
            <bdi class="cut">{deploy.label}</bdi>
            <time class="dim" dateTime={deploy.at}>
              {clock(deploy.at)}
            </time>
          </a>
        </li>
      ))}
    </ol>
  )
}
