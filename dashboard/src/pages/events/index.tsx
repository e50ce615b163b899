/** The page of the events of jobs, in all processes, as they come. */

import { useState } from 'preact/hooks'
import type { EventStatus, JobEvent, JobEventKind } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { AddChip, Chip } from '../../components/search.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { exact } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useJobEvents } from '../../live/job-events.ts'
import { useQueueNames } from '../../live/queues.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'

const LIKE: Record<JobEventKind, EventStatus> = {
  pushed: 'enqueued',
  started: 'working',
  progress: 'working',
  succeeded: 'finished',
  failed: 'failed',
  retried: 'enqueued',
  died: 'error',
  cancelled: 'cancelled',
}
const KINDS = Object.keys(LIKE) as JobEventKind[]

export default function Events() {
  const [query, change] = useQuery()
  const [isPaused, setPaused] = useState(false)
  const kind = KINDS.find((one) => one === query.kind)
  const filter = { kinds: kind, jobs: query.class, queues: query.queue }
  const { events, since, error } = useJobEvents(filter, KINDS, isPaused)
  const queues = useQueueNames()
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('nav.events')}
        pill={isPaused && <Pill like="cancelled">{t('events.paused')}</Pill>}
        facts={[since ? t('events.since', { at: exact(since) }) : t('events.begins')]}
      >
        <button type="button" class="btn" data-key="p" onClick={() => setPaused(!isPaused)}>
          <Icon name={isPaused ? 'play' : 'pause'} />
          {isPaused ? t('events.continue') : t('events.pause')}
        </button>
      </Head>
      <section class="panel list">
        <div class="tools">
          <label>
            <span class="vh">{t('events.kind')}</span>
            <select
              class="btn"
              value={kind ?? ''}
              onChange={(event) => change({ kind: event.currentTarget.value }, { replace: true })}
            >
              <option value="">{t('events.allKinds')}</option>
              {KINDS.map((one) => (
                <option key={one} value={one}>
                  {t(`events.kind.${one}`)}
                </option>
              ))}
            </select>
          </label>
          <Chip name="queue" label={t('sets.filter.queue')} />
          <Chip name="class" label={t('sets.filter.class')} />
          <AddChip name="queue" label={t('sets.filter.queue')} known={queues} />
          <AddChip name="class" label={t('sets.filter.class')} known={[...new Set(events.map(({ job }) => job))]} />
        </div>
        {error && <ErrorNote error={error} />}
        {!since && !error && <Skeleton />}
        {since && events.length === 0 && (
          <Empty icon="busy" title={t('events.none')}>
            {t('events.noneWhat')}
          </Empty>
        )}
        {events.length > 0 && (
          <Table label={t('nav.events')} rows={events} columns={columns()} keyOf={({ id }) => id} />
        )}
      </section>
    </main>
  )
}

function columns(): Column<JobEvent>[] {
  return [
    {
      name: 'kind',
      title: t('events.kind'),
      cell: ({ kind }) => <Pill like={LIKE[kind]}>{t(`events.kind.${kind}`)}</Pill>,
    },
    {
      name: 'job',
      title: t('job.title'),
      class: 'max',
      cell: ({ job, jid, queue, error, progress }) => (
        <>
          <a class="cut block" href={at(`/jobs/${encoded(jid)}`)}>
            <bdi>{visible(job)}</bdi>
          </a>
          <span class="sub cut">
            <code>{visible(jid)}</code> · <bdi>{visible(queue)}</bdi>
          </span>
          {error && <bdi class="sub cut">{visible(`${error.class}: ${error.message}`)}</bdi>}
          {progress && <bdi class="sub cut">{progressText(progress)}</bdi>}
        </>
      ),
    },
    {
      name: 'why',
      title: t('events.why'),
      class: 'hide-s',
      cell: ({ reason, due }) => (
        <>
          {reason !== undefined && <code>{reason}</code>}
          {due !== undefined && (
            <span class="sub">
              {t('events.due')} <When at={due} />
            </span>
          )}
        </>
      ),
    },
    {
      name: 'attempt',
      title: t('events.attempt'),
      class: 'num hide-s dim',
      cell: ({ attempt }) => (attempt === undefined ? '' : number(attempt)),
    },
    { name: 'at', title: t('events.at'), class: 'num', cell: ({ at }) => <When at={at} /> },
  ]
}

function progressText({ done, total, note }: NonNullable<JobEvent['progress']>): string {
  const amount = total === undefined ? number(done) : t('task.partOf', { part: done, n: total })
  return note === undefined ? amount : `${amount} · ${visible(note)}`
}
