/** The findings of `highkiq doctor` about the store, the workers and the jobs, with advice. */

import { useState } from 'preact/hooks'
import type { Diagnosis, EventStatus } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { t, type Word } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { visible } from '../job/json.tsx'
import { type Sentence, sentencesOf, useFindingTexts } from './sentences.ts'

type Finding = Omit<Diagnosis['findings'][number], 'text' | 'advice'> & ReturnType<typeof sentencesOf> & { id: string }

const SEVERITIES = ['error', 'warning', 'ok'] as const
/** The status of a row with the colour of a severity. */
const LIKE: Record<Finding['severity'], EventStatus> = { ok: 'finished', warning: 'failed', error: 'error' }
/** The page about what a check examines, by its name. */
const PAGES: Record<string, string> = {
  ...{ workers: '/busy', versions: '/busy', clocks: '/busy', orphaned: '/busy' },
  ...{ queues: '/queues', paused: '/queues', growth: '/queues', due: '/scheduled' },
  ...{ tasks: '/tasks', ordered: '/ordered', batches: '/batches', locks: '/locks' },
}

export default function Doctor() {
  const { data, error, reload } = useData<Diagnosis>('/diagnosis', {}, { live: false })
  const [isExamining, setExamining] = useState(false)
  const examineAgain = async () => {
    setExamining(true)
    await reload()
    setExamining(false)
  }
  const texts = useFindingTexts()
  const all =
    data &&
    texts &&
    data.findings.map((finding, i): Finding => ({ ...finding, ...sentencesOf(finding, texts), id: String(i) }))
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('nav.doctor')}
        pill={data && <Pill like={LIKE[data.status]}>{t(`doctor.status.${data.status}`)}</Pill>}
        facts={[
          data && <bdi>{data.store}</bdi>,
          data && (
            <>
              {t('doctor.examined')} <When at={data.at} />
            </>
          ),
        ]}
      >
        <button type="button" class="btn" disabled={isExamining} onClick={() => void examineAgain()}>
          <Icon name="retries" />
          {t(isExamining ? 'doctor.examining' : 'doctor.again')}
        </button>
      </Head>
      <section class="panel list">
        {error && <ErrorNote error={error} onRetry={() => void examineAgain()} />}
        {!all && !error && <Skeleton rows={8} />}
        {all && (
          <Table
            label={t('nav.doctor')}
            // Errors come first.
            rows={SEVERITIES.flatMap((severity) => all.filter((finding) => finding.severity === severity))}
            columns={columns()}
            keyOf={({ id }) => id}
          />
        )}
      </section>
    </main>
  )
}

function SeverityPill({ severity }: Pick<Finding, 'severity'>) {
  return <Pill like={LIKE[severity]}>{t(`doctor.severity.${severity}`)}</Pill>
}

function Said({ class: name, sentence: { text, lang } }: { class: string; sentence: Sentence }) {
  return (
    <bdi class={name} lang={lang}>
      {visible(text)}
    </bdi>
  )
}

function columns(): Column<Finding>[] {
  return [
    {
      name: 'severity',
      title: t('doctor.severity'),
      class: 'nowrap hide-s',
      cell: ({ severity }) => <SeverityPill severity={severity} />,
    },
    {
      name: 'finding',
      title: t('doctor.finding'),
      class: 'max',
      cell: ({ check, severity, text, advice }) => (
        <>
          <span class="only-s">
            <SeverityPill severity={severity} />
          </span>
          <b class="b">{t(`doctor.check.${check}` as Word)}</b> <code class="dim">{check}</code>
          <Said class="whole block" sentence={text} />
          {advice && <Said class="sub whole" sentence={advice} />}
        </>
      ),
    },
    {
      name: 'page',
      title: <span class="vh">{t('actions')}</span>,
      class: 'num',
      cell: ({ check, severity }) =>
        severity !== 'ok' &&
        PAGES[check] !== undefined && (
          <a class="btn s" href={at(PAGES[check])}>
            {t('task.show')}
          </a>
        ),
    },
  ]
}
