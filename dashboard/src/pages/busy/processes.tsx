/** The worker processes of Highkiq and Sidekiq, and the signals that they can receive. */

import { sendRequest } from '../../api/client.ts'
import type { LiveProcess } from '../../api/types.ts'
import { at, encoded, queryValue } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { confirm } from '../../components/confirm.tsx'
import { OfSlots } from '../../components/slots.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { bytes, number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'

const LIKE = { live: 'finished', quiet: 'enqueued', silent: 'error' } as const

/** A process of either list: the one of changes cuts the queues. */
type Process = Omit<LiveProcess, 'moreQueues'> & { moreQueues?: number }

interface ProcessesProps {
  all: readonly Process[]
  reload(): Promise<void>
}

const identityOf = ({ identity }: Process) => identity

export function Processes({ all, reload }: ProcessesProps) {
  return <Table label={t('busy.processes')} rows={all} columns={columns(reload)} keyOf={identityOf} />
}

/** The processes that serve a queue, with their load and their slots. */
export function ServingProcesses({ all, reload }: ProcessesProps) {
  const shown = columns(reload).filter(({ name }) => name === 'process' || name === 'busy')
  const slots = actionColumn((process: Process) => <SlotsButton process={process} reload={reload} />)
  return <Table label={t('queues.servedBy')} rows={all} columns={[...shown, ...slots]} keyOf={identityOf} />
}

function columns(reload: () => Promise<void>): Column<Process>[] {
  return [
    {
      name: 'process',
      title: t('busy.process'),
      class: 'max',
      cell: ({ identity, tag, labels, state, version, ours, leader }) => (
        <>
          <span class="row wraps">
            <bdi class="whole mono">{identity}</bdi>
            <Pill like={LIKE[state]}>{t(`busy.state.${state}`)}</Pill>
            {leader && <span class="tag">{t('busy.leader')}</span>}
          </span>
          <span class="row wraps sub">
            <span>
              {ours ? 'Highkiq' : 'Sidekiq'} <bdi>{version}</bdi>
            </span>
            {[tag, ...labels].filter(Boolean).map((label, i) => (
              <span key={i} class="tag whole">
                <bdi>{label}</bdi>
              </span>
            ))}
          </span>
        </>
      ),
    },
    {
      name: 'queues',
      title: t('nav.queues'),
      class: 'hide-m field-cell',
      cell: ({ queues, moreQueues = 0 }) => (
        <>
          <bdi class="cut block" title={queues.join(', ')}>
            {queues.join(', ')}
          </bdi>
          {moreQueues > 0 && <span class="sub">{t('busy.moreQueues', { n: moreQueues })}</span>}
        </>
      ),
    },
    {
      name: 'busy',
      title: t('busy.load'),
      class: 'num',
      cell: ({ identity, busy, concurrency, orderedConcurrency }) => (
        <>
          <b class="b">
            {busy > 0 ? <a href={at(`/busy?process=${queryValue(identity)}`)}>{number(busy)}</a> : number(busy)}
          </b>{' '}
          <span class="dim">
            <OfSlots {...{ concurrency, orderedConcurrency }} />
          </span>
        </>
      ),
    },
    { name: 'rss', title: t('busy.memory'), class: 'num hide-s', cell: ({ rss }) => bytes(rss * 1024) },
    {
      name: 'since',
      title: t('busy.since'),
      class: 'num hide-m dim ago',
      cell: ({ startedAt }) => <When at={startedAt} />,
    },
    { name: 'beat', title: t('busy.seen'), class: 'num hide-s dim ago', cell: ({ beat }) => <When at={beat} /> },
    ...actionColumn((process: Process) => <ProcessActions process={process} reload={reload} />),
  ]
}

interface ProcessProps {
  process: Process
  reload(): Promise<void>
}

function ProcessActions({ process, reload }: ProcessProps) {
  const { identity, quiet, embedded, busy } = process
  if (embedded) {
    return (
      <span class="actions-cell">
        <span class="dim">{t('busy.embedded')}</span>
        <SlotsButton process={process} reload={reload} />
      </span>
    )
  }
  const send = async (act: 'quiet' | 'stop' | 'trace') => {
    await reportOutcome(sendRequest('POST', `/processes/${encoded(identity)}/${act}`), () =>
      t(`busy.did.${act}`, { identity }),
    )
    await reload()
  }
  const stop = async () => {
    const yes = await confirm({
      title: t('busy.stopTitle', { identity }),
      body: t('busy.stopBody', { n: busy }),
      act: t('busy.stop'),
      keep: t('task.keepRunning'),
    })
    if (yes) await send('stop')
  }
  return (
    <span class="actions-cell">
      <SlotsButton process={process} reload={reload} />
      <button type="button" class="btn s" disabled={quiet} onClick={() => void send('quiet')}>
        {t('busy.quiet')}
      </button>
      <button type="button" class="btn s" onClick={() => void send('trace')}>
        {t('busy.trace')}
      </button>
      <button type="button" class="btn s risk" onClick={() => void stop()}>
        {t('busy.stopAsk')}
      </button>
    </span>
  )
}

/** Changes the slots of a process of Highkiq; others can't. */
function SlotsButton({ process: { identity, ours, capsules }, reload }: ProcessProps) {
  if (!ours) return null
  const resize = async () => {
    const slots = new Map(capsules.map(({ name, concurrency }) => [name, concurrency]))
    const yes = await confirm({
      title: t('busy.resizeTitle', { identity }),
      body: <SlotFields slots={slots} />,
      act: t('busy.resize'),
      keep: t('later.keep'),
      isDangerous: false,
    })
    const changed = capsules.filter(({ name, concurrency }) => slots.get(name) !== concurrency)
    if (!yes || changed.length === 0) return
    const send = async () => {
      for (const { name: capsule } of changed) {
        const body = { concurrency: slots.get(capsule), capsule }
        await sendRequest('PATCH', `/processes/${encoded(identity)}`, body)
      }
    }
    await reportOutcome(send(), () => t('busy.did.resize', { identity }))
    await reload()
  }
  return (
    <button type="button" class="btn s" onClick={() => void resize()}>
      {t('busy.resizeAsk')}
    </button>
  )
}

/** A field for the number of slots of each capsule; it changes `slots`. */
function SlotFields({ slots }: { slots: Map<string, number> }) {
  return (
    <>
      {[...slots].map(([capsule, concurrency]) => (
        <label key={capsule} class="field">
          {t('busy.resizeField', { capsule })}
          <input
            type="number"
            required
            min="1"
            step="1"
            defaultValue={String(concurrency)}
            onInput={(event) => slots.set(capsule, event.currentTarget.valueAsNumber)}
          />
        </label>
      ))}
    </>
  )
}
