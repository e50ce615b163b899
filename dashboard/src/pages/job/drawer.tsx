/** One job beside its list: its details, its actions, and the way to its neighbours. */

import type { ComponentChildren } from 'preact'
import { ask } from '../../api/client.ts'
import type { JobDetail, JobState } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Drawer } from '../../components/drawer.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import type { Data } from '../../live/use-data.ts'
import { JobAbout, JobDetailView, JobPill } from './detail.tsx'
import { visible } from './json.tsx'

interface JobDrawerProps {
  /** Identifies the details: another value closes what is open in them. */
  id: string
  jid: string
  /** The path of the job in the API. */
  path: string
  found: Data<JobDetail>
  /** The class that the list shows, until the details are there. */
  listed: string | undefined
  state: JobState
  isGone: boolean
  /** True to show the state beside the title. */
  hasPill?: boolean
  /** The buttons for a job that is still there. */
  actions(job: JobDetail): ComponentChildren
  onClose(): void
  onPrevious: (() => void) | undefined
  onNext: (() => void) | undefined
}

export function JobDrawer(props: JobDrawerProps) {
  const { id, jid, path, found, listed, state, isGone, hasPill = false, actions, onClose, onPrevious, onNext } = props
  const { data: job, error, reload } = found
  return (
    <Drawer
      label={t('job.label', { jid })}
      title={
        <>
          <h2 class="drawer-title cut">
            <bdi>{visible(job?.class ?? listed ?? t('job.title'))}</bdi>
          </h2>
          {job && hasPill && <JobPill job={job} state={state} />}
        </>
      }
      about={job && <JobAbout job={job} state={state} />}
      onClose={onClose}
      onPrevious={onPrevious}
      onNext={onNext}
      actions={job && !isGone && about.value?.readOnly === false && actions(job)}
    >
      {isGone && (
        <Empty
          icon="search"
          title={t('sets.gone')}
          actions={
            <a class="btn" href={at(`/jobs/${encoded(jid)}`)}>
              {t('sets.gone.find')}
            </a>
          }
        >
          {t('sets.gone.what')}
        </Empty>
      )}
      {error && error.code !== 'UNKNOWN_JID' && <ErrorNote error={error} onRetry={reload} />}
      {job && !isGone && (
        <JobDetailView
          key={id}
          job={job}
          state={state}
          loadWhole={() => ask<JobDetail>(path, { key: job.key, whole: true })}
        />
      )}
      {!job && !error && <Skeleton />}
    </Drawer>
  )
}
