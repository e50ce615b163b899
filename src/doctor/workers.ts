/** The worker processes: their heartbeats, clocks and versions. */

import type { Process } from '../index.ts'
import { finding } from '../store/contract/finding-texts.ts'
import { VERSION } from '../version.generated.ts'
import { type Check, each } from './check.ts'

const CLOCK_SECONDS = 1

export const workers: Check = ({ hq, processes, live }) => {
  const silent = processes.filter((process) => !live.includes(process))
  const found = each(silent, ({ identity, beat }) =>
    finding('error', 'worker-silent', { identity, seconds: (hq.now() - beat.getTime()) / 1000 }),
  )
  if (found.length > 0) return found
  if (processes.length === 0) return finding('ok', 'workers-none')
  return finding('ok', 'workers-running', { n: processes.length })
}

/** A heartbeat may be late, but a clock that is behind is seen only by the store. */
export const clocks: Check = ({ hq, processes }) => {
  const ahead = ({ beat }: Process) => (beat.getTime() - hq.now()) / 1000
  const wrong = processes.filter((process) => ahead(process) > CLOCK_SECONDS)
  const found = each(wrong, (process) => {
    const { hostname: host, identity } = process
    return finding('warning', 'worker-clock-ahead', { host, identity, seconds: ahead(process) })
  })
  return found.length > 0 ? found : finding('ok', 'worker-clocks-agree')
}

export const versions: Check = ({ processes }) => {
  const others = processes.filter(({ ours, version }) => ours && version !== VERSION)
  if (others.length === 0) return finding('ok', 'worker-versions-agree', { version: VERSION })
  const names = [...new Set(others.map(({ version }) => version))].sort()
  const values = { n: others.length, versions: names.join(', '), version: VERSION }
  return finding('warning', 'worker-versions-differ', values)
}
