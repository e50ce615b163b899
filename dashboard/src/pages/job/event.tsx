/** The event of a row that ended: its status, its messages and its result. */

import type { TaskEvent } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Pill } from '../../components/status.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { JsonWell, visible } from './json.tsx'
import { Messages } from './messages.tsx'

export function EventPanel({ event, task }: { event: TaskEvent; task: string }) {
  const { status, code, messages, attempts, startedAt, finishedAt, number: row, result } = event
  const took = startedAt && finishedAt ? (new Date(finishedAt).getTime() - new Date(startedAt).getTime()) / 1000 : null
  return (
    <section class="panel">
      <header>
        <h2>{t('job.event')}</h2>
        <span class="aside">
          <Pill like={status}>{t(`status.${status}`)}</Pill>
        </span>
      </header>
      <div class="body">
        <dl class="kv">
          <dt>{t('job.task')}</dt>
          <dd>
            <a class="link" href={at(`/tasks/${encoded(task)}`)}>
              {t('job.task.row', { row: number(row ?? event.index + 1), id: task })}
            </a>
          </dd>
          <dt>{t('job.event.attempts')}</dt>
          <dd>{number(attempts)}</dd>
          {code !== null && (
            <>
              <dt>{t('job.event.code')}</dt>
              <dd>
                <code>
                  <bdi>{visible(code)}</bdi>
                </code>
              </dd>
            </>
          )}
          <dt>{t('job.event.started')}</dt>
          <dd>
            <When at={startedAt} />
          </dd>
          <dt>{t('job.event.finished')}</dt>
          <dd>
            <When at={finishedAt} />
            {took !== null && <span class="dim"> {t('job.event.took', { time: duration(Math.max(took, 0)) })}</span>}
          </dd>
        </dl>
        {messages.length > 0 && <Messages messages={messages} />}
        {result !== undefined && result !== null && <Value title={t('job.result')} value={result} />}
      </div>
    </section>
  )
}

export function Value({ title, value }: { title: string; value: unknown }) {
  return (
    <>
      <div class="sec">
        <h3>{title}</h3>
      </div>
      <JsonWell text={JSON.stringify(value) ?? ''} label={title} />
    </>
  )
}
