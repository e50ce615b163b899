/** The worker processes of Highkiq and Sidekiq, and the signals that they can receive. */

import { tell } from '../../api/client.ts'
import type { Process } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { OfSlots } from '../../components/slots.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { doing } from '../../components/toast.tsx'
import { bytes, number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'

const LIKE = { live: 'finished', quiet: 'enqueued', silent: 'error' } as const

export function Processes({ all, reload }: { all: Process[]; reload(): Promise<void> }) {
  return <Table label={t('busy.processes')} rows={all} columns={columns(reload)} keyOf={({ identity }) => identity} />
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
            {[tag, ...labels].filter(Boolean).map((label) => (
              <span key={label} class="tag hide-m">
                <bdi>{label}</bdi>
              </span>
            ))}
          </span>
          <span class="sub cut">
            {ours ? 'Highkiq' : 'Sidekiq'} <bdi>{version}</bdi>
          </span>
        </>
      ),
    },
    {
      name: 'queues',
      title: t('nav.queues'),
      class: 'hide-m field-cell',
      cell: ({ queues }) => (
        <bdi class="cut block" title={queues.join(', ')}>
          {queues.join(', ')}
        </bdi>
      ),
    },
    {
      name: 'busy',
      title: t('busy.load'),
      class: 'num',
      cell: ({ busy, concurrency, orderedConcurrency }) => (
        <>
          <b class="b">{number(busy)}</b>{' '}
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
      class: 'num hide-m dim',
      cell: ({ startedAt }) => <When at={startedAt} />,
    },
    { name: 'beat', title: t('busy.seen'), class: 'num hide-s dim', cell: ({ beat }) => <When at={beat} /> },
    ...(about.value?.readOnly === false
      ? [
          {
            name: 'acts',
            title: <span class="vh">{t('acts')}</span>,
            class: 'num',
            cell: (process: Process) => <ProcessActs process={process} reload={reload} />,
          },
        ]
      : []),
  ]
}

function ProcessActs({ process, reload }: { process: Process; reload(): Promise<void> }) {
  const { identity, quiet, embedded, busy, ours, capsules } = process
  if (embedded) return <span class="dim">{t('busy.embedded')}</span>
  const send = async (act: 'quiet' | 'stop' | 'trace') => {
    await doing(tell('POST', `/processes/${encoded(identity)}/${act}`), () => t(`busy.did.${act}`, { identity }))
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
  const resize = async () => {
    const slots = new Map(capsules.map(({ name, concurrency }) => [name, concurrency]))
    const yes = await confirm({
      title: t('busy.resizeTitle', { identity }),
      body: <SlotFields slots={slots} />,
      act: t('busy.resize'),
      keep: t('later.keep'),
      isDangerous: false,
    })
    if (!yes) return
    for (const { name: capsule, concurrency: before } of capsules) {
      const concurrency = slots.get(capsule)
      if (concurrency === before) continue
      const sent = tell('PATCH', `/processes/${encoded(identity)}`, { concurrency, capsule })
      await doing(sent, () => t('busy.did.resize', { identity }))
    }
    await reload()
  }
  return (
    <span class="acts-cell">
      {ours && (
        <button type="button" class="btn s" onClick={() => void resize()}>
          {t('busy.resizeAsk')}
        </button>
      )}
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
