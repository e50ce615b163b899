/** Times: relative in the text, and more than a day ago with their date; exact on hover. */

import { clock, exact, inUtc, relative, serverNow } from '../format/time.ts'
import { beat } from '../live/live-stats.ts'

const DAY_MS = 86_400_000

export function When({ at }: { at: string | null }) {
  if (at === null) return <span class="dim">–</span>
  // Reading these signals renders the time again at each update of the live stats and when the time zone changes.
  void beat.value
  void inUtc.value
  return (
    <time dateTime={at} title={exact(at)}>
      {serverNow() - Date.parse(at) >= DAY_MS ? clock(at) : relative(at)}
    </time>
  )
}
