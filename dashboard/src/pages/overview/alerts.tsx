/** Problems that need attention, each with a link to its page. */

import type { Alert } from '../../api/types.ts'
import { at, encoded, queryValue } from '../../base.ts'
import { Icon, StatusIcon } from '../../components/icon.tsx'
import { Empty } from '../../components/notice.tsx'
import { clock, duration, relative } from '../../format/time.ts'
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
          const { title, what, to } = textsOf(one)
          return (
            <li key={`${title} ${to}`}>
              <a href={at(to)}>
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

function textsOf(one: Alert): { title: string; what: string; to: string } {
  const name = encoded
  switch (one.kind) {
    case 'retries-share-error':
      return {
        title: t('alerts.retries-share-error', { n: one.count }),
        what: t('alerts.retries-share-error.what', { error: one.error, class: one.class, at: clock(one.since) }),
        to: `/retries?cause=${queryValue(one.filter)}`,
      }
    case 'process-silent':
      return {
        title: t('alerts.process-silent', { identity: one.identity }),
        what: t('alerts.process-silent.what', {
          at: relative(one.beat),
          n: one.busy,
          back: relative(new Date(Date.now() + one.returnsIn * 1000)),
        }),
        to: '/busy',
      }
    case 'queue-grows':
      return {
        title: t('alerts.queue-grows', { queue: one.queue }),
        what: t('alerts.queue-grows.what', {
          n: Math.round(one.perMinute),
          minutes: Math.round(one.minutes),
          time: duration(one.latency),
        }),
        to: `/queues/${name(one.queue)}`,
      }
    case 'queue-unserved':
      return {
        title: t('alerts.queue-unserved', { queue: one.queue }),
        what: t('alerts.queue-unserved.what', { n: one.size, queue: one.queue }),
        to: `/queues/${name(one.queue)}`,
      }
    case 'queue-without-worker':
      return {
        title: t('alerts.queue-unserved', { queue: one.queue }),
        what: t('alerts.queue-without-worker.what', { queue: one.queue }),
        to: `/queues/${name(one.queue)}`,
      }
    case 'task-stands-still':
      return {
        title: t('alerts.task-stands-still', { name: one.name }),
        what: t('alerts.task-stands-still.what', { minutes: Math.round(one.minutes) }),
        to: `/tasks/${one.task}`,
      }
    case 'task-paused':
      return {
        title: t('alerts.task-paused', { name: one.name }),
        what: one.reason ?? '',
        to: `/tasks/${one.task}`,
      }
    case 'ordered-silent':
      return {
        title: t('alerts.ordered-silent', { queue: one.queue, shard: one.shard }),
        what: t('alerts.ordered-silent.what', { time: duration(one.lag) }),
        to: `/ordered/${name(one.queue)}`,
      }
    case 'no-process':
      return {
        title: t('alerts.no-process'),
        what: t('alerts.no-process.what', { n: one.waiting }),
        to: '/busy',
      }
  }
}
