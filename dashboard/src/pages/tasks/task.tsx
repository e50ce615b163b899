/** One task: its progress, its rows, and its actions. */

import { useCallback, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso'
import { reasonText } from '../../../../src/alerts/texts.ts'
import { sendRequest } from '../../api/client.ts'
import type { TaskStatus } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Copy } from '../../components/copy.tsx'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { bytes, number } from '../../format/number.ts'
import { language, t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { Control } from './control.tsx'
import { type Corrected, CorrectedButton, CorrectedError, useCorrected } from './corrected.tsx'
import { FileDrop } from './drop.tsx'
import { Hero } from './hero.tsx'
import { Meta } from './meta.tsx'
import { RatePanel } from './rate.tsx'
import { Reasons, useReasons } from './reasons.tsx'
import { rejectedOf, retryRows } from './retry.tsx'
import { RowDrawer } from './row.tsx'
import { Rows } from './rows.tsx'
import { StatePill } from './state.tsx'
import { canAct } from './task-actions.ts'

/** The page starts anew for another task. */
export default function TaskPage() {
  const { id = '' } = useRoute().params
  return <OneTask key={id} id={id} />
}

function OneTask({ id }: { id: string }) {
  // The task is not requested while it is being deleted.
  const [isGoing, setGoing] = useState(false)
  const { data: task, error, reload } = useData<TaskStatus>(isGoing ? null : `/tasks/${encoded(id)}`)
  const reasons = useReasons(id, isGoing)
  const corrected = useCorrected(id, reload)
  const [query, change] = useQuery()
  const close = useCallback(() => change({ row: null }), [change])
  if (!task) {
    return (
      <main class="main" id="main" tabIndex={-1}>
        <Head title={id} />
        {error ? <ErrorNote error={error} onRetry={reload} /> : <Skeleton />}
      </main>
    )
  }
  return (
    <Split drawer={query.row === undefined ? undefined : <RowDrawer task={task} jid={query.row} onClose={close} />}>
      <Head
        title={task.name}
        pill={<StatePill state={task.state} />}
        facts={[
          <bdi key="job">{task.job}</bdi>,
          <span key="sent">
            {t('task.sent')} <When at={task.createdAt} />
          </span>,
          t('task.run', { n: task.run }),
          task.file?.name !== undefined && <bdi key="file">{task.file.name}</bdi>,
          task.file?.bytes !== undefined && bytes(task.file.bytes),
          // Without a login nobody is known, and the server writes its own name for that.
          task.file?.by !== undefined && task.file.by !== 'loopback' && t('task.sentBy', { who: task.file.by }),
          task.onDone !== undefined && t('task.then', { job: task.onDone }),
          task.onFailure !== undefined && t('task.ifRejected', { job: task.onFailure }),
          <span key="id" class="mono">
            {task.id}
            <Copy text={task.id} label={t('task.copyId')} />
          </span>,
        ]}
      >
        <Actions task={task} corrected={corrected} reload={reload} onGoing={setGoing} />
      </Head>
      {task.reason !== undefined && task.state !== 'done' && (
        <div class="note failed">
          <div>
            <b class="b">{t(`tasks.state.${task.state}`)}</b>
            <p class="muted">
              <bdi>{reasonText(task, t)}</bdi>
            </p>
          </div>
        </div>
      )}
      <CorrectedError {...corrected} />
      <FileDrop isOff={!canCorrect(task)} hint={t('task.sendCorrected')} onFile={corrected.send}>
        <Hero task={task} />
        <div class="grid g21">
          <RatePanel task={task} />
          <Control task={task} reload={reload} />
        </div>
        <Meta meta={task.meta} />
        <Reasons task={task} reasons={reasons} reload={reload} />
        <Rows task={task} codes={reasons.items.flatMap(({ code }) => code ?? [])} />
      </FileDrop>
    </Split>
  )
}

const rejectedRows = ({ counts }: TaskStatus) => counts.failed + counts.error + counts.cancelled
/** Returns whether a corrected report may be sent. */
const canCorrect = (task: TaskStatus) => about.value?.readOnly === false && rejectedRows(task) > 0

interface ActionsProps {
  task: TaskStatus
  corrected: Corrected
  reload(): Promise<void>
  onGoing(isGoing: boolean): void
}

function Actions({ task, corrected, reload, onGoing }: ActionsProps) {
  const { route } = useLocation()
  const { counts, state, id } = task
  if (about.value?.readOnly !== false) return <Files task={task} />
  const isOver = canAct('delete', task)
  const retried = rejectedOf(task)
  const open = counts.enqueued + counts.working
  const act = async (name: string, doneText: string, body?: unknown) => {
    await reportOutcome(sendRequest('POST', `/tasks/${id}/${name}`, body), () => doneText)
    await reload()
  }
  const cancel = async () => {
    const yes = await confirm({
      title: t('task.cancelTitle', { name: task.name }),
      body: t('task.cancelBody', { enqueued: counts.enqueued, working: counts.working, finished: counts.finished }),
      act: t('task.cancelRows', { n: open }),
      keep: t('task.keepRunning'),
    })
    if (yes) await act('cancel', t('task.cancelled', { n: open }))
  }
  const remove = async () => {
    const yes = await confirm({
      title: t('task.deleteTitle', { name: task.name }),
      body: t('task.deleteBody', { n: task.total }),
      act: t('task.delete'),
      keep: t('task.keepIt'),
    })
    if (!yes) return
    onGoing(true)
    const gone = sendRequest('DELETE', `/tasks/${id}`).then(() => true)
    if (await reportOutcome(gone, () => t('task.deleted', { name: task.name }))) route(at('/tasks'))
    else onGoing(false)
  }
  return (
    <>
      {canAct('pause', task) && (
        <button type="button" class="btn" data-key="p" onClick={() => void act('pause', t('task.paused'))}>
          <Icon name="pause" />
          {t('task.pause')}
        </button>
      )}
      {canAct('resume', task) && (
        <button type="button" class="btn primary" data-key="p" onClick={() => void act('resume', t('task.resumed'))}>
          <Icon name="play" />
          {t('task.resume')}
        </button>
      )}
      {retried.count > 0 && (
        <button type="button" class="btn" data-key="r" onClick={() => void retryRows(task, retried, reload)}>
          <Icon name="retries" />
          {t(counts.failed + counts.error > 0 ? 'task.retryRejected' : 'task.retryCancelled')}
          <span class="n">{number(retried.count)}</span>
        </button>
      )}
      <Files task={task} />
      {canCorrect(task) && <CorrectedButton {...corrected} />}
      {isOver ? (
        <button type="button" class="btn risk" data-key="D" onClick={() => void remove()}>
          {t('task.deleteAsk')}
        </button>
      ) : (
        <button
          type="button"
          class="btn risk"
          data-key="D"
          disabled={state === 'cancelling'}
          onClick={() => void cancel()}
        >
          {t('task.cancel')}
        </button>
      )}
    </>
  )
}

/** Downloads the rejected rows in the format of the import; for an export, its file. */
function Files({ task }: { task: TaskStatus }) {
  const { id, format: came, export: made } = task
  const format = came ?? 'csv'
  const path = `/api/v1/tasks/${id}`
  return (
    <>
      {made && (
        // The download waits for unfinished pages and leaves out rejected ones.
        <a class="btn primary" href={at(`${path}/download?wait=1&partial=1`)} download>
          <Icon name="download" />
          {t('task.download')}
          <span class="n">.{made}</span>
        </a>
      )}
      {rejectedRows(task) > 0 && (
        <a class="btn" href={at(`${path}/report?format=${format}&lang=${language.value}`)} download>
          <Icon name="download" />
          {t('task.rejectedRows')}
          <span class="n">.{format}</span>
        </a>
      )}
    </>
  )
}
