/** Pauses, resumes and clears a queue. */

import { sendRequest } from '../../api/client.ts'
import type { LiveQueue } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Icon } from '../../components/icon.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

interface QueueActionsProps {
  queue: Pick<LiveQueue, 'name' | 'size' | 'paused'>
  reload(): Promise<void>
  isSmall?: boolean
}

export function QueueActions({ queue: { name, size, paused }, reload, isSmall = false }: QueueActionsProps) {
  const path = `/queues/${encoded(name)}`
  const kind = isSmall ? 'btn s' : 'btn'
  const toggle = async () => {
    const act = paused ? 'resume' : 'pause'
    await reportOutcome(sendRequest<{ ignoredBy?: string[] }>('POST', `${path}/${act}`), (answer) =>
      answer?.ignoredBy && answer.ignoredBy.length > 0
        ? t('queues.ignored', { who: answer.ignoredBy.join(', ') })
        : t(paused ? 'queues.didResume' : 'queues.didPause', { name }),
    )
    await reload()
  }
  const clear = async () => {
    const yes = await confirm({
      title: t('queues.clearTitle', { n: size }),
      body: t('queues.clearBody', { name }),
      act: t('queues.clearAct', { n: size }),
      count: size,
    })
    if (!yes) return
    await reportOutcome(sendRequest<{ done: number }>('POST', `${path}/clear`), ({ done }) =>
      t('queues.cleared', { n: done, name }),
    )
    await reload()
  }
  const keyed = (key: string) => ({ [isSmall ? 'data-row-key' : 'data-key']: key })
  return (
    <span class="actions-cell">
      <button type="button" class={kind} {...keyed('p')} onClick={() => void toggle()}>
        <Icon name={paused ? 'play' : 'pause'} />
        {paused ? t('queues.resume') : t('queues.pause')}
      </button>
      <button type="button" class={`${kind} risk`} disabled={size === 0} {...keyed('D')} onClick={() => void clear()}>
        {t('queues.clear')}
      </button>
    </span>
  )
}
