/** The shards of an ordered queue: their lag and their owners. */

import { useState } from 'preact/hooks'
import { sendRequest } from '../../api/client.ts'
import type { OrderedQueue, OrderedShard } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { StatusIcon } from '../../components/icon.tsx'
import { useModal } from '../../components/modal.ts'
import { reportOutcome } from '../../components/toast.tsx'
import { WaitBar } from '../../components/wait.tsx'
import { number } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'

export function Shards({ queue, reload }: { queue: OrderedQueue; reload(): Promise<void> }) {
  const [isAsked, setAsked] = useState(false)
  const { shards } = queue
  const owners = new Set(shards.flatMap(({ owner }) => owner ?? [])).size
  return (
    <section class="panel section">
      <header>
        <h2>{t('ordered.shards')}</h2>
        <span class="aside">
          {t('ordered.shardsOf', { n: shards.length })} · {t('ordered.owners', { n: owners })}
          {about.value?.readOnly === false && (
            <button type="button" class="btn s" onClick={() => setAsked(true)}>
              {t('ordered.reshardAsk')}
            </button>
          )}
        </span>
      </header>
      <div class="shards">
        {shards.map((shard) => (
          <Shard key={shard.shard} shard={shard} />
        ))}
      </div>
      {isAsked && <Reshard queue={queue} onClose={() => setAsked(false)} reload={reload} />}
    </section>
  )
}

function Shard({ shard: { shard, owner, length, busy, lag } }: { shard: OrderedShard }) {
  const isLost = owner === null && length > 0
  return (
    <div class={isLost ? 'shard failed warn' : 'shard'}>
      <header>
        {t('ordered.shard', { n: shard })}
        <span class="row shard-st">
          {isLost && t('ordered.noOwner')}
          <StatusIcon status={isLost ? 'failed' : busy > 0 ? 'working' : 'enqueued'} />
        </span>
      </header>
      <div class="lag">
        {duration(lag)} <small>{t('ordered.lagUnit')}</small>
      </div>
      <WaitBar seconds={lag} />
      <p>
        <b>{number(length)}</b> {t('ordered.idsWait', { n: length })}
      </p>
      <p class="own cut">
        <bdi>{owner ?? '–'}</bdi>
      </p>
    </div>
  )
}

function Reshard({ queue, onClose, reload }: { queue: OrderedQueue; onClose(): void; reload(): Promise<void> }) {
  const dialog = useModal()
  const [shards, setShards] = useState(String(queue.shards.length))
  const n = Number(shards)
  const isWhole = Number.isInteger(n) && n >= 1
  const change = async () => {
    await reportOutcome(sendRequest('POST', `/ordered/${encoded(queue.name)}/reshard`, { shards: n }), () =>
      t('ordered.resharded', { n }),
    )
    await reload()
    onClose()
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="reshard-title" onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          if (isWhole) void change()
        }}
      >
        <h2 id="reshard-title">{t('ordered.reshardTitle', { name: queue.name })}</h2>
        <p>{t('ordered.reshardBody')}</p>
        <label class="field">
          {t('ordered.shards')}
          <input type="number" min="1" value={shards} onInput={(event) => setShards(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="button" class="btn" onClick={onClose}>
            {t('task.keepIt')}
          </button>
          <button type="submit" class="btn primary" disabled={!isWhole}>
            {t('ordered.reshard')}
          </button>
        </div>
      </form>
    </dialog>
  )
}
