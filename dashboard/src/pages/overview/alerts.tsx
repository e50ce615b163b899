/** Problems that need attention, each with a link to its page. */

import { textsOf } from '../../../../src/alerts/texts.ts'
import type { Alert } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Icon, StatusIcon } from '../../components/icon.tsx'
import { Empty } from '../../components/notice.tsx'
import { clock, duration, relative, serverNow } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'

export function AttentionPanel({ all }: { all: Alert[] | undefined }) {
  return (
    <section class="panel">
      <header>
        <h2>{t('overview.alerts')}</h2>
        {all && all.length > 0 && <span class="aside">{t('overview.alerts.count', { n: all.length })}</span>}
      </header>
      {all?.length === 0 && (
        <Empty icon="check" title={t('overview.alerts.none')}>
          {t('overview.alerts.noneWhat')}
        </Empty>
      )}
      <ul class="att">
        {all?.map((one) => {
          const { title, what, path } = textsOf(one, { t, clock, relative, now: serverNow, duration })
          return (
            <li key={`${title} ${path}`}>
              <a href={at(path)}>
                <StatusIcon status={one.level} />
                <b>
                  <bdi>{title}</bdi>
                </b>
                <span class="go">
                  <Icon name="right" />
                </span>
                <p>
                  <bdi>{what}</bdi>
                </p>
              </a>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
