import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Crew } from '../crew.ts'
import type { harnessApp } from './app.js'
import type { Environment, Figures } from './fault.ts'
import type { Sample } from './growth.ts'
import type { Journal } from './journal.ts'
import type { Pushers } from './pushers.ts'
import type { TaskReader } from './tasks.ts'

const POLL_MS = 100
/** The samples of a soak, if it is long enough: a slope is found from all pairs of them. */
const SAMPLES = 500
const PROGRESS_SECONDS = 30

export interface Soak {
  seconds: number
  /** Jobs pushed in a second. */
  rate: number
  progress: (text: string) => void
}

interface Parts {
  environment: Environment
  app: ReturnType<typeof harnessApp>
  journal: Journal
  workers: Crew
  pushers: Pushers
  tasks: TaskReader
  /** A server may be away. */
  hasFaults: boolean
}

/** Pushes jobs at a steady rate. Returns what was measured meanwhile. */
export async function soak({ seconds, rate, progress }: Soak, parts: Parts): Promise<Sample[]> {
  const every = Math.max(seconds / SAMPLES, 1)
  const samples: Sample[] = []
  const began = performance.now()
  let [sampledAt, shownAt] = [0, 0]
  for (;;) {
    const at = (performance.now() - began) / 1000
    parts.pushers.release(Math.min(at, seconds) * rate)
    if (at >= sampledAt + every) {
      sampledAt = at
      const figures = await figuresOf(parts)
      if (figures) samples.push({ at, figures })
      if (figures && at >= shownAt + PROGRESS_SECONDS) {
        shownAt = at
        progress(`${at.toFixed(0)} s, ${parts.journal.runs} runs: ${summaryOf(figures)}`)
      }
    }
    if (at >= seconds) return samples
    await sleep(POLL_MS)
  }
}

/** undefined: the store was away. */
async function figuresOf({ environment, app, journal, workers, pushers, tasks, hasFaults }: Parts) {
  journal.read()
  try {
    await tasks.readEnded(journal)
    // A batch stays while it has a dead job, and an hour longer once the dead set drops that job.
    await app.hq.dead.deleteAll({ matching: '"bid"' })
    const [{ megabytes, rows, handles }, { enqueued, retries, scheduled }] = await Promise.all([
      environment.measure(),
      app.hq.store.metrics.totals(),
    ])
    const processes = [...processesOf('worker', workers, journal), ...processesOf('pusher', pushers.crew, journal)]
    const of = (unit: 'megabytes' | 'handles') =>
      Object.fromEntries(processes.flatMap((figures) => Object.entries(figures[unit])))
    return {
      megabytes: { ...of('megabytes'), ...megabytes },
      rows: { 'jobs not pushed yet': pushers.behind, 'waiting jobs': enqueued + retries + scheduled, ...rows },
      handles: { ...of('handles'), ...handles },
    }
  } catch (thrown) {
    if (hasFaults) return undefined
    throw thrown
  }
}

/** Returns the mean figures of the processes of a crew. */
function processesOf(role: string, crew: Crew, journal: Journal): Omit<Figures, 'rows'>[] {
  const mean = (measure: (pid: number) => number | undefined) => {
    const values = crew.pids.flatMap((pid) => measure(pid) ?? [])
    return values.reduce((sum, value) => sum + value, 0) / values.length
  }
  const bytesOf = (pid: number) => journal.heapOf(pid)
  const megabytes = {
    [`${role}: heap`]: mean((pid) => bytesOf(pid)) / 1e6,
    [`${role}: resident`]: mean(residentOf),
  }
  return [{ megabytes, handles: { [`${role}: files`]: mean((pid) => readdirSync(`/proc/${pid}/fd`).length) } }]
}

function residentOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return (Number(kilobytes) * 1024) / 1e6
}

function summaryOf({ megabytes, rows, handles }: Figures): string {
  const shown: Record<string, number> = { ...megabytes, ...rows, ...handles }
  const names = [
    'worker: heap',
    'worker: resident',
    'pusher: heap',
    'file',
    'log',
    'used memory',
    'all tables',
    'connections',
    'waiting jobs',
    'jobs not pushed yet',
  ]
  return names.flatMap((name) => (shown[name] === undefined ? [] : `${name} ${shown[name].toFixed(1)}`)).join(', ')
}
