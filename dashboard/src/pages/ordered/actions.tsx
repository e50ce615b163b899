/** Pauses an ordered queue, and makes all waiting ids due. */

import { tell } from '../../api/client.ts'
import type { OrderedQueue } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { doing } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

export function OrderedActs({
  queue: { name, paused, length },
  reload,
}: {
  queue: OrderedQueue
  reload(): Promise<void>
}) {
  const path = `/ordered/${encoded(name)}`
  const toggle = async () => {
    const said = t(paused ? 'queues.didResume' : 'queues.didPause', { name })
    await doing(tell('POST', `${path}/${paused ? 'resume' : 'pause'}`), () => said)
    await reload()
  }
  const now = async () => {
    await doing(tell<{ ids: number }>('POST', `${path}/waiting/now`, { all: true }), ({ ids }) =>
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
