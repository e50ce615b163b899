/** Retries, scheduled and dead jobs. */

import { Head } from '../../parts/head.tsx'
import { t } from '../../words/index.ts'

export default function Sets({ set }: { set: 'retries' | 'scheduled' | 'dead' }) {
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t(`sets.${set}`)} />
    </main>
  )
}
