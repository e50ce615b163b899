/** A job by its jid: its state, its details, and the actions for that state. */

import { useRoute } from 'preact-iso'
import { ask } from '../../api/client.ts'
import type { FoundJob, JobDetail, JobState } from '../../api/types.ts'
import { at, encoded, nameOf, queryValue } from '../../base.ts'
import { Copy } from '../../components/copy.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Progress } from '../../components/progress.tsx'
import { Pill } from '../../components/status.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { language, t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { type Data, useData } from '../../live/use-data.ts'
import { ActionButtons } from '../job-sets/action-buttons.tsx'
import { act, toastOf } from '../job-sets/actions.ts'
import { ACTIONS, KINDS, setOf } from '../job-sets/kinds.ts'
import { retryRowsByJid } from '../tasks/retry-rows.ts'
import { CancelButton } from './cancel.tsx'
import { JobDetailView, JobPill, Next } from './detail.tsx'
import { ChangeButtons } from './edit.tsx'
import { EventPanel, Value } from './event.tsx'
import { visible } from './json.tsx'
import { AskingWhen } from './later.tsx'

/** Jobs in these states change only by hand, and a search for one may read all jobs of the store. */
const ENDED: ReadonlySet<JobState> = new Set(['dead', 'succeeded', 'ended', 'unknown'])
const ENDED_REST_MS = 60_000

export default function JobPage() {
  const jid = nameOf(useRoute().params.jid ?? '')
  return <Found key={jid} jid={jid} />
}

function Found({ jid }: { jid: string }) {
  const restMs = ({ state }: FoundJob) => (ENDED.has(state) ? ENDED_REST_MS : 0)
  const found = useData<FoundJob>(`/jobs/${encoded(jid)}`, { lang: language.value }, { restMs })
  const { data, error, reload } = found
  const job = data?.job ?? null
  const state = data?.state ?? 'unknown'
  const set = setOf(state)
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={visible(job?.class ?? data?.class ?? t('job.title'))}
        pill={data && <StatePill found={data} />}
        facts={[
          <span key="jid" class="row">
            <code class="cut">{visible(jid)}</code>
            <Copy text={jid} label={t('job.copyJid')} />
          </span>,
          job?.at && <Next job={job} state={state} />,
          set && (
            <a class="link" href={at(`/${set}?job=${queryValue(jid)}`)}>
              {t(`job.in.${set}`)}
            </a>
          ),
        ]}
      >
        {data && about.value?.readOnly === false && <Actions found={found} jid={jid} />}
      </Head>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && (
        <section class="panel">
          <Skeleton rows={8} />
        </section>
      )}
      {data && <Body found={data} />}
      <AskingWhen />
    </main>
  )
}

/** For an ended job, the task knows how it ended. */
function StatePill({ found: { state, job, event } }: { found: FoundJob }) {
  if (state === 'ended' && event) return <Pill like={event.status}>{t(`status.${event.status}`)}</Pill>
  return <JobPill job={job ?? { failures: 0, retries: null }} state={state} />
}

function Actions({ found: { data, reload }, jid }: { found: Data<FoundJob>; jid: string }) {
  if (!data) return null
  const { state, job, event } = data
  const set = setOf(state)
  if (state === 'ended' && (event?.status === 'failed' || event?.status === 'error')) {
    const retry = async () => {
      await reportOutcome(retryRowsByJid([jid]), (acted) => toastOf('retry', acted))
      await reload()
    }
    return <ActionButtons actions={ACTIONS.rejected} onAct={() => void retry()} />
  }
  if (set && job) {
    return (
      <>
        <ChangeButtons job={job} path={pathOf(data)} isWaiting={set !== 'finished'} onDone={reload} />
        <ActionButtons
          actions={KINDS[set].actions}
          onAct={async (name) => {
            if (await act(set, name, [job], reload)) await reload()
          }}
        />
      </>
    )
  }
  if (state === 'waiting-children') return <CancelButton jid={jid} queue={null} state={state} onDone={reload} />
  if (state === 'queued' || state === 'limited' || state === 'running' || state === 'backlog') {
    return (
      <>
        {job && state !== 'backlog' && (
          <ChangeButtons job={job} path={pathOf(data)} isWaiting={state !== 'running'} onDone={reload} />
        )}
        <CancelButton jid={jid} queue={data.queue} state={state} onDone={reload} />
      </>
    )
  }
  return null
}

/** Returns the path of a job in its set or its queue; of any other job the one that searches for it. */
function pathOf({ jid, state, queue }: FoundJob): string {
  const set = setOf(state)
  if (set) return `/${set}/${encoded(jid)}`
  return state === 'queued' ? `/queues/${encoded(queue ?? '')}/jobs/${encoded(jid)}` : `/jobs/${encoded(jid)}`
}

async function wholeOf(found: FoundJob, { key }: JobDetail): Promise<JobDetail | null> {
  const path = pathOf(found)
  if (setOf(found.state) || found.state === 'queued') return ask<JobDetail>(path, { key, whole: true })
  return (await ask<FoundJob>(path, { whole: true })).job
}

function Body({ found }: { found: FoundJob }) {
  const { jid, state, job, event, result, failure, progress } = found
  const task = job?.task?.id ?? (/^[0-9a-f]{24}$/.test(jid) ? jid.slice(0, 16) : null)
  const hasOutcome = (event && task !== null) || result !== null || failure !== null
  const outcome = hasOutcome && (
    <div class="stack">
      {event && task !== null && <EventPanel event={event} task={task} />}
      {failure && !event && (
        <section class="panel">
          <div class="err">
            <b>{t('job.failure')}</b>
            <p>
              <bdi>{visible(failure.message)}</bdi>
            </p>
          </div>
        </section>
      )}
      {result !== null && !event && (
        <section class="panel">
          <div class="body">
            <Value title={t('job.result')} value={result} />
          </div>
        </section>
      )}
    </div>
  )
  if (!job && !hasOutcome) {
    return (
      <section class="panel">
        <Empty icon="search" title={t(`job.nowhere.${state === 'unknown' ? 'unknown' : 'passing'}`)}>
          {t(`job.nowhere.${state === 'unknown' ? 'unknown' : 'passing'}.what`)}
        </Empty>
      </section>
    )
  }
  return (
    <div class={job && outcome ? 'grid g21 flush' : 'grid flush'}>
      {job && (
        <section class="panel">
          <div class="body job-body">
            {progress && (
              <>
                <div class="sec">
                  <h3>{t('tasks.progress')}</h3>
                </div>
                <Progress progress={progress} />
              </>
            )}
            <JobDetailView job={job} state={state} loadWhole={() => wholeOf(found, job)} />
          </div>
        </section>
      )}
      {outcome}
      {!job && event && event.args !== null && (
        <section class="panel">
          <div class="body">
            <Value title={t('job.args')} value={event.args} />
          </div>
        </section>
      )}
    </div>
  )
}
