/** Times: relative to read, exact on hover. */

import { exact, inUtc, relative } from '../format/time.ts'
import { beat } from '../live/live-stats.ts'

export function When({ at }: { at: string | null }) {
  if (at === null) return <span class="dim">–</span>
  // Each pulse and a change of the zone make it anew.
  void beat.value
  void inUtc.value
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at)}
    </time>
  )
}
