/** One id of an ordered queue: it can wait, run and be in the morgue at the same time. */

import type { OrderedId, OrderedWaiting } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { Copy } from '../../components/copy.tsx'
import { Drawer } from '../../components/drawer.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t, type Word } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { visible } from '../job/json.tsx'

/** The number of payloads that are shown of one id. */
const SHOWN = 100

export function IdDrawer({ queue, id, onClose }: { queue: string; id: string; onClose(): void }) {
  const path = `/ordered/${encoded(queue)}/ids/${encoded(id)}`
  const { data, error, reload } = useData<OrderedId>(path)
  return (
    <Drawer
      label={id}
      title={
        <h2 class="drawer-title cut">
          <bdi>{id}</bdi>
        </h2>
      }
      about={
        <p class="row dim">
          <bdi>{queue}</bdi>
          <Copy text={id} label={t('ordered.copyId')} />
        </p>
      }
      onClose={onClose}
    >
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.dead && (
        <div class="err">
          <b>
            {t('ordered.died')} <When at={data.dead.updatedAt} />
          </b>
          {data.dead.deaths > 1 && <p class="dim">{t('ordered.deaths', { n: data.dead.deaths })}</p>}
          <p>
            <bdi>{visible(data.dead.error ?? '')}</bdi>
          </p>
        </div>
      )}
      {data?.inFlight && (
        <dl class="kv sec">
          <dt>{t('ordered.inWork')}</dt>
          <dd>
            <When at={data.inFlight.fetchedAt} />
          </dd>
          <dt>{t('busy.process')}</dt>
          <dd>
            <bdi>{data.inFlight.owner}</bdi>
          </dd>
        </dl>
      )}
      {data?.waiting && (
        <>
          {data.waiting.error !== null && (
            <div class="err">
              <b>{t('ordered.failedTimes', { n: data.waiting.retryCount + 1 })}</b>
              <p>
                <bdi>{visible(data.waiting.error)}</bdi>
              </p>
            </div>
          )}
          <Payloads title="ordered.waiting" all={data.waiting.payloads} size={data.waiting.size} />
        </>
      )}
      {data?.dead && <Payloads title="ordered.morgue" all={data.dead.payloads} size={data.dead.payloads.length} />}
      {data && !data.waiting && !data.inFlight && !data.dead && <p class="dim">{t('ordered.idGone')}</p>}
    </Drawer>
  )
}

function Payloads({ title, all, size }: { title: Word; all: OrderedWaiting['payloads']; size: number }) {
  return (
    <>
      <div class="sec">
        <h3>{t(title)}</h3>
        <span class="aside">{t('ordered.payloadsOf', { n: size })}</span>
      </div>
      {all.slice(0, SHOWN).map(({ payload, score }, i) => (
        <pre key={i}>
          <span class="k">{number(score, 3)}</span> {visible((JSON.stringify(payload, null, 2) ?? '').slice(0, 5000))}
        </pre>
      ))}
    </>
  )
}
