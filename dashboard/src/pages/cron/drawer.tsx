/** One cron entry: its next ticks and its last runs. */

import type { CronEntry } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Drawer } from '../../components/drawer.tsx'
import { When } from '../../components/time.tsx'
import { exact } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { visible } from '../job/json.tsx'
import { RunState, took } from './state.tsx'

/** The most characters of the arguments. */
const MOST = 5000

export function CronDrawer({ entry, onClose }: { entry: CronEntry; onClose(): void }) {
  const { name, args, spec, timeZone, next, runs } = entry
  return (
    <Drawer
      label={name}
      title={
        <h2 class="drawer-title cut">
          <bdi>{name}</bdi>
        </h2>
      }
      about={
        <p class="row dim">
          <code>{spec}</code> <bdi>{timeZone}</bdi>
        </p>
      }
      onClose={onClose}
    >
      <Facts entry={entry} />
      <div class="sec">
        <h3>{t('job.args')}</h3>
      </div>
      <pre class="well">
        {args === null ? t('cron.byFunction') : visible(JSON.stringify(args, null, 2).slice(0, MOST))}
      </pre>
      <div class="sec">
        <h3>{t('cron.nextTicks')}</h3>
      </div>
      <ol class="ticks">
        {next.map((tick) => (
          <li key={tick} class="row">
            <time dateTime={tick}>{exact(tick)}</time>
            <span class="grow" />
            <span class="dim">
              <When at={tick} />
            </span>
          </li>
        ))}
      </ol>
      <div class="sec">
        <h3>{t('cron.runs')}</h3>
      </div>
      {runs.length === 0 ? <p class="dim">{t('cron.noRuns')}</p> : <Runs runs={runs} />}
    </Drawer>
  )
}

function Facts({ entry: { job, queue, missed, overlap } }: { entry: CronEntry }) {
  return (
    <dl class="kv">
      <dt>{t('cron.job')}</dt>
      <dd>
        <bdi>{job}</bdi>
      </dd>
      {queue !== null && (
        <>
          <dt>{t('cron.queue')}</dt>
          <dd>
            <a class="link" href={at(`/queues/${encoded(queue)}`)}>
              <bdi>{visible(queue)}</bdi>
            </a>
          </dd>
        </>
      )}
      <dt>{t('cron.missed')}</dt>
      <dd>
        <code>{missed}</code>
      </dd>
      <dt>{t('cron.overlap')}</dt>
      <dd>
        <code>{overlap}</code>
      </dd>
    </dl>
  )
}

function Runs({ runs }: Pick<CronEntry, 'runs'>) {
  return (
    <table aria-label={t('cron.runs')}>
      <thead>
        <tr>
          <th>{t('cron.tick')}</th>
          <th>{t('cron.state')}</th>
          <th class="num">{t('cron.took')}</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.jid}>
            <td>
              <a class="link" href={at(`/jobs/${encoded(run.jid)}`)}>
                <When at={run.tick ?? run.pushedAt} />
              </a>
              {run.tick === null && <span class="sub">{t('cron.byHand')}</span>}
            </td>
            <td>
              <RunState run={run} />
            </td>
            <td class="num">{took(run)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
