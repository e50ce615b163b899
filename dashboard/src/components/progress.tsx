/** The progress that the handler of a job reported: its numbers, its note, and a bar if it has a total. */

import type { RunningJob } from '../api/types.ts'
import { number } from '../format/number.ts'
import { t } from '../i18n/index.ts'
import { visible } from '../pages/job/json.tsx'

export function Progress({ progress: { done, total, note } }: { progress: NonNullable<RunningJob['progress']> }) {
  return (
    <>
      <span class="row">
        {total === undefined ? number(done) : t('task.partOf', { part: done, n: total })}
        {note !== undefined && <bdi class="cut dim">{visible(note)}</bdi>}
      </span>
      {total !== undefined && (
        <span class="meter working" style={{ '--v': Math.min((done / Math.max(total, 1)) * 100, 100) }}>
          <i />
        </span>
      )}
    </>
  )
}
