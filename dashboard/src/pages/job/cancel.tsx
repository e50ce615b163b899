/** Cancels a job wherever it is: in its queue, or in the worker that runs it. */

import { sendRequest } from '../../api/client.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Icon } from '../../components/icon.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

interface CancelButtonProps {
  jid: string
  queue: string | null
  state: 'queued' | 'limited' | 'running' | 'backlog' | 'waiting-children'
  onDone(): unknown
}

const WHAT = { running: 'job.cancel.running', 'waiting-children': 'job.cancel.parent' } as const

export function CancelButton({ jid, queue, state, onDone }: CancelButtonProps) {
  const cancel = async () => {
    const isMeant = await confirm({
      title: t('job.cancel.ask'),
      body: t(WHAT[state as keyof typeof WHAT] ?? 'job.cancel.waiting'),
      parts: [{ name: jid, count: 1 }],
      act: t('job.cancel.do'),
      keep: t('job.cancel.keep'),
    })
    if (!isMeant) return
    const path = `/jobs/${encoded(jid)}`
    const cancelled = sendRequest<{ outcome: 'removed' | 'signalled' | 'requested' }>('DELETE', path, undefined, {
      queue: state === 'running' ? null : queue,
    })
    await reportOutcome(cancelled, ({ outcome }) => t(`job.cancel.${outcome}`))
    await onDone()
  }
  return (
    <button type="button" class="btn risk" data-key="D" onClick={() => void cancel()}>
      <Icon name="x" />
      {t('job.cancel')}
    </button>
  )
}
