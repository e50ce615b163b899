/** A wait as a bar with a scale of its own, so that bars of different queues and pages can be compared. */

import { duration } from '../format/time.ts'
import { t } from '../i18n/index.ts'

/** Seconds at the end of the scale, which is logarithmic and begins at one second. */
const END = 3600
const LONG = 60
const TOO_LONG = 600

export function WaitBar({ seconds }: { seconds: number }) {
  const part = seconds <= 1 ? 0 : Math.min(Math.log(seconds) / Math.log(END), 1)
  const like = seconds >= TOO_LONG ? 'error' : seconds >= LONG ? 'failed' : 'finished'
  const scale = t('wait.scale', {
    ...{ from: duration(1), to: duration(END) },
    ...{ long: duration(LONG), tooLong: duration(TOO_LONG) },
  })
  return (
    <span class={`meter ${like}`} title={scale} style={{ '--v': part * 100 }}>
      <i />
    </span>
  )
}
