/** The state of a batch, and the button that cancels it. */

import { sendRequest } from '../../api/client.ts'
import type { Batch } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Pill } from '../../components/status.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

/** The status of a row that looks like the state of a batch. */
const LIKE = { running: 'working', succeeded: 'finished', dead: 'error', failed: 'failed' } as const

export function StatePill({ state }: { state: Batch['state'] }) {
  return <Pill like={LIKE[state]}>{t(`batches.state.${state}`)}</Pill>
}

interface CancelProps {
  batch: Batch
  small?: boolean
  reload(): Promise<unknown>
}

export function Cancel({ batch: { bid, description, pending }, small = false, reload }: CancelProps) {
  if (pending === 0) return null
  const cancel = async () => {
    const yes = await confirm({
      title: t('batches.cancelTitle', { n: pending }),
      body: t('batches.cancelBody'),
      parts: [{ name: description ?? bid, count: pending }],
      act: t('batches.cancelAct'),
      keep: t('task.keepRunning'),
    })
    if (!yes) return
    await reportOutcome(sendRequest('POST', `/batches/${encoded(bid)}/cancel`), () => t('batches.cancelled', { bid }))
    await reload()
  }
  return (
    <button
      type="button"
      class={small ? 'btn s' : 'btn'}
      {...{ [small ? 'data-row-key' : 'data-key']: 'D' }}
      onClick={() => void cancel()}
    >
      {t('batches.cancel')}
    </button>
  )
}
