/** Pauses an ordered queue, and makes all waiting ids due. */

import { sendRequest } from '../../api/client.ts'
import type { OrderedQueue } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

export function OrderedActions({
  queue: { name, paused, length },
  reload,
}: {
  queue: OrderedQueue
  reload(): Promise<void>
}) {
  const path = `/ordered/${encoded(name)}`
  const toggle = async () => {
    const doneText = t(paused ? 'queues.didResume' : 'queues.didPause', { name })
    await reportOutcome(sendRequest('POST', `${path}/${paused ? 'resume' : 'pause'}`), () => doneText)
    await reload()
  }
  const now = async () => {
    await reportOutcome(sendRequest<{ ids: number }>('POST', `${path}/waiting/now`, { all: true }), ({ ids }) =>
      t('ordered.dueNow', { n: ids }),
    )
    await reload()
  }
  return (
    <>
      <button type="button" class="btn" data-key="p" onClick={() => void toggle()}>
        <Icon name={paused ? 'play' : 'pause'} />
        {paused ? t('queues.resume') : t('queues.pause')}
      </button>
      <button type="button" class="btn" disabled={length === 0} onClick={() => void now()}>
        <Icon name="play" />
        {t('ordered.runAll')}
      </button>
    </>
  )
}
