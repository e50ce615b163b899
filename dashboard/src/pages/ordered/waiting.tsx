/** The waiting ids of an ordered queue. */

import type { OrderedQueue, OrderedWaiting } from '../../api/types.ts'
import type { Column } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { DELETE, type IdAction, Ids, payloadText } from './ids.tsx'

const SORTINGS = [
  { by: 'performIn', word: 'ordered.by.performIn' },
  { by: 'id', word: 'ordered.by.id' },
  { by: 'retryCount', word: 'ordered.by.retryCount' },
] as const

const ACTIONS: readonly IdAction[] = [
  { name: 'now', button: 'ordered.now', key: 'r' },
  {
    name: 'kill',
    button: 'ordered.kill',
    ask: { title: 'ordered.killTitle', body: 'ordered.killBody', act: 'ordered.killAct' },
  },
  DELETE,
]

export function Waiting({ queue, reload }: { queue: OrderedQueue; reload(): Promise<void> }) {
  return (
    <Ids<OrderedWaiting>
      queue={queue}
      reload={reload}
      list="waiting"
      sortings={SORTINGS}
      columns={columns}
      actions={ACTIONS}
      empty={{ title: 'ordered.noneWaiting', what: 'ordered.noneWaitingWhat' }}
    />
  )
}

function columns(): Column<OrderedWaiting>[] {
  return [
    {
      name: 'id',
      title: t('ordered.id'),
      class: 'field-cell',
      cell: ({ id }) => <bdi class="cut block mono">{id}</bdi>,
    },
    { name: 'size', title: t('ordered.payloads'), class: 'num', cell: ({ size }) => number(size) },
    {
      name: 'payload',
      title: t('ordered.payload'),
      class: 'max hide-s',
      cell: ({ payloads, error }) => (
        <>
          <code class="cut block">
            <bdi>{payloadText(payloads)}</bdi>
          </code>
          {error !== null && (
            <span class="sub cut">
              <bdi>{error}</bdi>
            </span>
          )}
        </>
      ),
    },
    { name: 'shard', title: t('ordered.shardColumn'), class: 'num hide-m dim', cell: ({ shard }) => number(shard) },
    {
      name: 'failures',
      title: t('ordered.failures'),
      class: 'num hide-s',
      cell: ({ retryCount }) => (retryCount < 0 ? '–' : number(retryCount + 1)),
    },
    { name: 'due', title: t('ordered.due'), class: 'num', cell: ({ performIn }) => <When at={performIn} /> },
  ]
}
