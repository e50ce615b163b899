/** The worker processes: their heartbeats, clocks and versions. */

import type { Process } from '../index.ts'
import { count, duration, plural } from '../job/plural.ts'
import { VERSION } from '../version.generated.ts'
import { type Check, each, ok } from './check.ts'

const CLOCK_SECONDS = 1

export const workers: Check = ({ hq, processes, live }) => {
  const silent = processes.filter((process) => !live.includes(process))
  const found = each(silent, ({ identity, beat }) => ({
    severity: 'error',
    text: `worker ${identity} is silent: its last heartbeat was ${duration((hq.now() - beat.getTime()) / 1000)} ago`,
    advice: 'If its process has died, start another. If it runs, a handler may block its event loop',
  }))
  if (found.length > 0) return found
  return ok(processes.length === 0 ? 'none is running' : `${count(processes.length)} running`)
}

/** A heartbeat may be late, but a clock that is behind is seen only by the store. */
export const clocks: Check = ({ hq, processes }) => {
  const ahead = ({ beat }: Process) => (beat.getTime() - hq.now()) / 1000
  const wrong = processes.filter((process) => ahead(process) > CLOCK_SECONDS)
  const found = each(wrong, (process) => ({
    severity: 'warning',
    text: `the clock of ${process.hostname} (${process.identity}) is ${duration(ahead(process))} ahead of this machine's`,
    advice: 'Synchronise both with NTP: scheduled jobs start too early or too late',
  }))
  return found.length > 0 ? found : ok('no clock of a worker is ahead of this machine')
}

export const versions: Check = ({ processes }) => {
  const others = processes.filter(({ ours, version }) => ours && version !== VERSION)
  if (others.length === 0) return ok(`Highkiq ${VERSION} here and in its workers`)
  const names = [...new Set(others.map(({ version }) => version))].sort()
  const text = `${plural(others.length, 'worker runs', 'workers run')} Highkiq ${names.join(', ')}, and this is ${VERSION}`
  return { severity: 'warning', text, advice: 'After a deploy, restart the workers that are left' }
}
