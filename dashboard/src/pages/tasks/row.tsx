/** One row of a task and its history. */

import { sendRequest } from '../../api/client.ts'
import type { TaskEvent, TaskRetried, TaskStatus } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Copy } from '../../components/copy.tsx'
import { Drawer } from '../../components/drawer.tsx'
import { Icon, StatusIcon } from '../../components/icon.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Pill } from '../../components/status.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { lastMessageText, messageText } from '../../format/message.ts'
import { duration } from '../../format/time.ts'
import { language, t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { Deadline, DeferredActions, isDeferred } from './deferred.tsx'
import { retriedText } from './retry.tsx'

const REJECTED = ['failed', 'error', 'cancelled']

export function RowDrawer({ task, jid, onClose }: { task: TaskStatus; jid: string; onClose(): void }) {
  const { data, error, reload } = useData<{ event: TaskEvent | null }>(`/jobs/${encoded(jid)}`, {
    lang: language.value,
  })
  const event = data?.event
  const title = event ? t('task.rowNumber', { n: event.number ?? event.index + 1 }) : jid
  const retry = async () => {
    if (!event) return
    // The row is retried unchanged, since the shown arguments may be redacted.
    const rows = [{ index: event.index }]
    await reportOutcome(sendRequest<TaskRetried>('POST', `/tasks/${task.id}/retry`, { rows }), retriedText)
    await reload()
  }
  const canRetry = about.value?.readOnly === false && event && REJECTED.includes(event.status) && event.args !== null
  return (
    <Drawer
      label={title}
      title={
        <>
          <h2 class="drawer-title">{title}</h2>
          {event && <Pill like={event.status}>{t(`status.${event.status}`)}</Pill>}
        </>
      }
      about={
        <p class="row dim">
          <a href={at(`/jobs/${encoded(jid)}`)}>
            <code>{jid}</code>
          </a>
          <Copy text={jid} label={t('job.copyJid')} />
        </p>
      }
      onClose={onClose}
      actions={
        canRetry ? (
          <button type="button" class="btn primary" data-key="r" onClick={() => void retry()}>
            <Icon name="retries" />
            {t('task.retry')}
          </button>
        ) : (
          about.value?.readOnly === false && event && isDeferred(event) && <DeferredActions jid={jid} reload={reload} />
        )
      }
    >
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {event && isDeferred(event) && (
        <p class="note">
          <Deadline until={event.deferredUntil} />
        </p>
      )}
      {event && <Life event={event} />}
    </Drawer>
  )
}

function Life({ event }: { event: TaskEvent }) {
  const { messages, status, code, args, startedAt, finishedAt, attempts } = event
  // The start is shown below.
  const shown = messages.filter(({ text }) => text !== 'working' || startedAt === null)
  return (
    <>
      {REJECTED.includes(status) && (
        <div class={`err ${status}`}>
          <b>{code ?? t(`status.${status}`)}</b>
          <p>
            <bdi>{lastMessageText(messages)}</bdi>
          </p>
        </div>
      )}
      <div class="sec">
        <h3>{t('task.args')}</h3>
      </div>
      <pre>{args === null ? t('task.argsDropped') : JSON.stringify(args.length === 1 ? args[0] : args, null, 2)}</pre>
      <div class="sec">
        <h3>{t('task.life')}</h3>
        <span class="aside">{t('task.attempts', { n: attempts })}</span>
      </div>
      <ol class="life">
        {finishedAt !== null && (
          <li class={status}>
            <StatusIcon status={status} />
            <span class="when">
              <When at={finishedAt} />
            </span>
            {t(`status.${status}`)}
            {startedAt !== null && <p>{duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)}</p>}
          </li>
        )}
        {[...shown].reverse().map((message, i) => (
          <li key={shown.length - i} class="enqueued">
            <StatusIcon status="enqueued" />
            <span class="when">
              <When at={message.at} />
            </span>
            <bdi>{messageText(message.text)}</bdi>
          </li>
        ))}
        {startedAt !== null && (
          <li class="working">
            <StatusIcon status="working" />
            <span class="when">
              <When at={startedAt} />
            </span>
            {t('task.began')}
          </li>
        )}
      </ol>
    </>
  )
}
