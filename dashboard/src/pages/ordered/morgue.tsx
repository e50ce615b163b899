/** The ids in the morgue of an ordered queue. */

import { sendRequest } from '../../api/client.ts'
import type { OrderedDead, OrderedQueue } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { confirm } from '../../components/confirm.tsx'
import { Icon } from '../../components/icon.tsx'
import type { Column } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { DELETE, type Done, type IdAction, Ids, payloadText } from './ids.tsx'

const SORTINGS = [
  { by: 'updatedAt', word: 'ordered.by.updatedAt' },
  { by: 'id', word: 'ordered.by.id' },
] as const

const ACTIONS: readonly IdAction[] = [{ name: 'resurrect', button: 'ordered.resurrect', key: 'r' }, DELETE]

export function Morgue({ queue, reload }: { queue: OrderedQueue; reload(): Promise<void> }) {
  const path = `/ordered/${encoded(queue.name)}/morgue`
  const n = queue.morgueLength
  const isAllowed = about.value?.readOnly === false
  const act = async (name: 'resurrect' | 'delete', which: { all: true } | { ids: string[] }, done: Done) => {
    await reportOutcome(sendRequest<{ ids: number }>('POST', `${path}/${name}`, which), ({ ids }) =>
      t('ordered.did', { n: ids }),
    )
    await done()
  }
  const deleteAll = async (done: Done) => {
    const question = {
      title: t('ordered.deleteTitle', { n }),
      body: t('ordered.deleteBody'),
      act: t('ordered.deleteAct', { n }),
      count: n,
    }
    if (await confirm(question)) await act('delete', { all: true }, done)
  }
  return (
    <Ids<OrderedDead>
      queue={queue}
      reload={reload}
      list="morgue"
      sortings={SORTINGS}
      columns={(done) => columns((id) => act('resurrect', { ids: [id] }, done))}
      actions={ACTIONS}
      empty={{ title: 'ordered.noneDead', what: 'ordered.noneDeadWhat' }}
    >
      {(done) =>
        isAllowed &&
        n > 0 && (
          <>
            <button type="button" class="btn" onClick={() => void act('resurrect', { all: true }, done)}>
              <Icon name="retries" />
              {t('ordered.resurrectAll')}
              <span class="n">{number(n)}</span>
            </button>
            <button type="button" class="btn risk" onClick={() => void deleteAll(done)}>
              <Icon name="trash" />
              {t('ordered.deleteAll')}
            </button>
          </>
        )
      }
    </Ids>
  )
}

function columns(resurrect: (id: string) => Promise<unknown>): Column<OrderedDead>[] {
  return [
    {
      name: 'id',
      title: t('ordered.id'),
      class: 'field-cell',
      cell: ({ id }) => <bdi class="cut block mono">{id}</bdi>,
    },
    {
      name: 'size',
      title: t('ordered.payloads'),
      class: 'num hide-s',
      cell: ({ payloads }) => number(payloads.length),
    },
    {
      name: 'payload',
      title: t('ordered.payload'),
      class: 'hide-m field-cell',
      cell: ({ payloads }) => (
        <code class="cut block">
          <bdi>{payloadText(payloads)}</bdi>
        </code>
      ),
    },
    {
      name: 'error',
      title: t('ordered.diedOf'),
      class: 'max',
      cell: ({ error, deaths }) => (
        <>
          <bdi class="cut block">{error ?? '–'}</bdi>
          {deaths > 1 && <span class="sub">{t('ordered.deaths', { n: deaths })}</span>}
        </>
      ),
    },
    { name: 'when', title: t('ordered.when'), class: 'num hide-s', cell: ({ updatedAt }) => <When at={updatedAt} /> },
    ...actionColumn(
      ({ id }: OrderedDead) => (
        <button
          type="button"
          class="btn s sq"
          data-row-key="r"
          title={t('ordered.resurrect')}
          aria-label={t('ordered.resurrectId', { id })}
          onClick={() => void resurrect(id)}
        >
          <Icon name="retries" />
        </button>
      ),
      'num hide-s',
    ),
  ]
}
