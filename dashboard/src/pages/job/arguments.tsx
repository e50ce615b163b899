/** The arguments of a job: complete, or their beginning with a link to all. */

import { useState } from 'preact/hooks'
import type { JobDetail } from '../../api/types.ts'
import { Copy } from '../../components/copy.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { bytes } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { JsonWell } from './json.tsx'

interface ArgumentsProps {
  job: JobDetail
  /** Loads the job with all its arguments; null when it is gone. */
  loadWhole(): Promise<JobDetail | null>
}

export function Arguments({ job, loadWhole }: ArgumentsProps) {
  const [whole, setWhole] = useState<string>()
  const text = whole ?? job.argsText
  const isCut = job.args === null && whole === undefined
  const fetchAll = async () => {
    const all = await reportOutcome(loadWhole())
    if (all) setWhole(all.argsText)
  }
  return (
    <>
      <div class="sec">
        <h3>{t('job.args')}</h3>
        <span class="aside row">
          {isCut
            ? t('job.args.cut', { size: bytes(job.bytes) })
            : [job.args && t('job.args.values', { n: job.args.length }), bytes(sizeOf(text))]
                .filter(Boolean)
                .join(', ')}
          {!isCut && <Copy text={text} label={t('job.args.copy')} />}
        </span>
      </div>
      <JsonWell text={text} label={t('job.args')} />
      {isCut && (
        <button type="button" class="btn s below" onClick={() => void fetchAll()}>
          {t('job.args.all', { size: bytes(job.bytes) })}
        </button>
      )}
    </>
  )
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length
}
