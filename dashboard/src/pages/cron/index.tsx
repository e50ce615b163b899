/** The cron entries. */

import { sendRequest } from '../../api/client.ts'
import type { CronEntry, Page } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Search } from '../../components/search.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { number } from '../../format/number.ts'
import { exact } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'
import { CronDrawer } from './drawer.tsx'
import { RunState, took } from './state.tsx'

export default function Cron() {
  const { data, error, reload } = useData<Page<CronEntry>>('/cron')
  const [query, change, link] = useQuery()
  const entry = data?.items.find(({ name }) => name === query.entry)
  const wanted = (query.search ?? '').toLowerCase()
  const found = data?.items.filter(({ name, job }) => `${name} ${job}`.toLowerCase().includes(wanted)) ?? []
  return (
    <Split drawer={entry && <CronDrawer entry={entry} onClose={() => change({ entry: null })} />}>
      <Head title={t('cron.title')} {...(data ? { count: number(data.items.length) } : {})} />
      <section class="panel list">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data?.items.length === 0 && (
          <Empty icon="cron" title={t('cron.none')}>
            {t('cron.noneWhat')}
            <br />
            <code>{"hq.cron('nightly', '0 3 * * *', CleanUp)"}</code>
          </Empty>
        )}
        {data && data.items.length > 1 && (
          <div class="tools">
            <Search label={t('cron.search')} placeholder={t('cron.search')} />
          </div>
        )}
        {data && data.items.length > 0 && found.length === 0 && <Empty icon="search" title={t('nothingMatches')} />}
        {found.length > 0 && (
          <Table
            label={t('cron.title')}
            rows={found}
            columns={columns(reload, (entry) => link({ entry }))}
            keyOf={({ name }) => name}
            open={entry?.name}
            onOpen={({ name }) => change({ entry: name }, { replace: entry !== undefined })}
          />
        )}
      </section>
    </Split>
  )
}

function columns(reload: () => Promise<void>, addressOf: (name: string) => string): Column<CronEntry>[] {
  return [
    {
      name: 'name',
      title: t('cron.name'),
      class: 'max',
      cell: ({ name, job, args, paused, defined, spec, timeZone }) => (
        <>
          <span class="row">
            <a class="cut" href={addressOf(name)}>
              <bdi>{name}</bdi>
            </a>
            {paused && <Pill like="failed">{t('cron.paused')}</Pill>}
            {!defined && <Pill like="cancelled">{t('cron.undefined')}</Pill>}
          </span>
          <span class="sub cut">
            <bdi>{job}</bdi>{' '}
            <code>
              <bdi>{args === null ? t('cron.byFunction') : visible(JSON.stringify(args))}</bdi>
            </code>
          </span>
          <span class="only-s dim">
            <code>{spec}</code> <bdi>{timeZone}</bdi>
          </span>
        </>
      ),
    },
    {
      name: 'spec',
      title: t('cron.when'),
      class: 'hide-s',
      cell: ({ spec, timeZone }) => (
        <>
          <code class="nowrap">{spec}</code>
          <span class="sub">
            <bdi>{timeZone}</bdi>
          </span>
        </>
      ),
    },
    {
      name: 'next',
      title: t('cron.next'),
      class: 'num',
      cell: ({ nextAt, next }) => (
        <span title={next.map((one) => exact(one)).join('\n')}>
          <When at={nextAt} />
        </span>
      ),
    },
    {
      name: 'last',
      title: t('cron.last'),
      class: 'num hide-s',
      cell: ({ lastAt, lastJid }) =>
        lastJid === null ? (
          <When at={lastAt} />
        ) : (
          <a class="link" href={at(`/jobs/${encoded(lastJid)}`)}>
            <When at={lastAt} />
          </a>
        ),
    },
    {
      name: 'state',
      title: t('cron.state'),
      class: 'hide-m',
      cell: ({ runs: [run] }) =>
        run && (
          <>
            <RunState run={run} />
            <span class="sub">{took(run)}</span>
          </>
        ),
    },
    ...actionColumn((entry: CronEntry) => <CronActions entry={entry} reload={reload} />),
  ]
}

function CronActions({ entry: { name, paused }, reload }: { entry: CronEntry; reload(): Promise<void> }) {
  const act = async (what: 'run' | 'pause' | 'resume') => {
    await reportOutcome(sendRequest('POST', `/cron/${encoded(name)}/${what}`), () => t(`cron.did.${what}`, { name }))
    await reload()
  }
  return (
    <span class="actions-cell">
      <button
        type="button"
        class="btn s"
        onClick={({ detail: clicks }) => {
          // The second click of a double click would push a second job.
          if (clicks < 2) void act('run')
        }}
      >
        {t('cron.run')}
      </button>
      <button type="button" class="btn s" data-row-key="p" onClick={() => void act(paused ? 'resume' : 'pause')}>
        <Icon name={paused ? 'play' : 'pause'} />
        {paused ? t('queues.resume') : t('queues.pause')}
      </button>
    </span>
  )
}
