/** Compares the selected classes in one chart. */

import { ask, type Query } from '../../api/client.ts'
import type { JobMetrics } from '../../api/types.ts'
import { at, decoded, encoded } from '../../base.ts'
import { Chart, timesOf } from '../../components/chart.tsx'
import { DeployList } from '../../components/deploys.tsx'
import { Icon } from '../../components/icon.tsx'
import { ErrorNote } from '../../components/notice.tsx'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { type Range, spanOf } from './ranges.tsx'

/** The most classes in the chart; each has a colour. */
export const MOST_COMPARED = 6
/** This many lines are solid and the others dashed, for people who can't tell the colours apart. */
const SOLID = 3
const FIGURES = ['processed', 'p95', 'failed'] as const
type Figure = (typeof FIGURES)[number]
/** Processes write their metrics this often. */
const WRITTEN_MS = 10_000

/** Returns the classes that the address holds. */
export function comparedIn({ compare = '' }: Record<string, string>): string[] {
  const names = compare.split(',').map((name) => decoded(name) ?? '')
  return [...new Set(names)].filter((name) => name !== '').slice(0, MOST_COMPARED)
}

export function addressOf(names: Iterable<string>): { compare: string } {
  return { compare: [...names].map(encoded).join(',') }
}

function load(path: string, { compare, ...period }: Query): Promise<JobMetrics[]> {
  const names = comparedIn({ compare: String(compare) })
  return Promise.all(names.map((name) => ask<JobMetrics>(`${path}/${encoded(name)}`, period)))
}

export function Compared({ names, range }: { names: readonly string[]; range: Range }) {
  const [query, change, link] = useQuery()
  const shown = FIGURES.find((one) => one === query.figure) ?? 'processed'
  const titles: Record<Figure, string> = {
    processed: t('metrics.perMinute'),
    p95: t('metrics.p95Seconds'),
    failed: t('metrics.failedPerMinute'),
  }
  const { data, error, reload } = useData<JobMetrics[]>(
    '/metrics',
    { ...spanOf(range), ...addressOf(names) },
    { load, restMs: WRITTEN_MS },
  )
  return (
    <section class="panel total" aria-busy={!data && !error}>
      <header>
        <h2>{titles[shown]}</h2>
        <span class="aside">
          <nav class="seg" aria-label={t('metrics.figure')}>
            {FIGURES.map((one) => (
              <a key={one} href={link({ figure: one })} {...(one === shown ? { 'aria-current': 'true' as const } : {})}>
                {t(`metrics.compared.${one}`)}
              </a>
            ))}
          </nav>
        </span>
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {data && <Lines data={data} shown={shown} title={titles[shown]} />}
        <ul class="row wraps compared" aria-label={t('metrics.inChart')}>
          {names.map((name, i) => (
            <li key={name} class="chip" style={{ '--s': `var(--class-${i + 1})` }}>
              <a class="lg cut" href={at(`/metrics/${encoded(name)}?range=${range}`)}>
                <bdi class="cut">{name}</bdi>
              </a>
              <button
                type="button"
                aria-label={t('metrics.leaveOut', { name })}
                onClick={() => change(addressOf(names.filter((one) => one !== name)))}
              >
                <Icon name="x" />
              </button>
            </li>
          ))}
        </ul>
        {data?.[0] && <DeployList deploys={data[0].deploys} />}
      </div>
    </section>
  )
}

function Lines({ data, shown, title }: { data: readonly JobMetrics[]; shown: Figure; title: string }) {
  const [first] = data
  if (!first) return null
  const times = timesOf(first)
  const valuesOf = ({ steps, step }: JobMetrics) => {
    const by = new Map(steps.map((one) => [Date.parse(one.at), one]))
    return times.map((time) => {
      const found = by.get(time.getTime())
      return shown === 'p95' ? (found?.p95 ?? null) : ((found?.[shown] ?? 0) * 60) / step
    })
  }
  return (
    <Chart
      label={`${title}: ${data.map(({ name }) => name).join(', ')}`}
      times={times}
      height={220}
      series={data.map((one, i) => ({
        label: one.name,
        like: `class-${i + 1}`,
        kind: i < SOLID ? 'line' : 'dashes',
        // A time without runs has no values.
        bridgesGaps: true,
        values: valuesOf(one),
      }))}
      annotations={first.deploys}
    />
  )
}
