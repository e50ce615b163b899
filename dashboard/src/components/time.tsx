/** Times: relative in the text, exact on hover. */

import { exact, inUtc, relative } from '../format/time.ts'
import { beat } from '../live/live-stats.ts'

export function When({ at }: { at: string | null }) {
  if (at === null) return <span class="dim">–</span>
  // Reading these signals renders the time again at each update of the live stats and when the time zone changes.
  void beat.value
  void inUtc.value
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at)}
    </time>
  )
}
