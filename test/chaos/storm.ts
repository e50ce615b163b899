import { setTimeout as sleep } from 'node:timers/promises'
import type { EventStatus } from '#dist/store/contract.js'
import { Crew, type CrewOptions } from './crew.ts'
import { chaosApp } from './jobs.js'
import { Load, type LoadOptions } from './load.ts'
import { readNotes } from './notes.ts'
import { judge, type Outcome } from './outcome.ts'

export interface StormOptions extends CrewOptions, LoadOptions {
  /** Injects faults while jobs come; resolves with their number when the last one is over. */
  inject: (crew: Crew) => Promise<number>
  /** No job may be left lying for longer. */
  mostSeconds: number
  /** Where the storm itself reads the store: no fault cuts these connections. Default: `url`. */
  directUrl?: string
  /** What is in the store, after all, that should not be. */
  leftovers?: () => Promise<string[]>
}

/** Pushes jobs while faults are injected, waits until all is done, and judges what the jobs and the store say. */
export async function storm(options: StormOptions): Promise<Outcome> {
  const { url, directUrl = url, folder, jobs, mostSeconds } = options
  const app = chaosApp(url, folder)
  const direct = directUrl === url ? app : chaosApp(directUrl, folder)
  const crew = new Crew(options)
  try {
    await crew.start()
    const load = new Load(app, options)
    const pushing = load.push()
    // It is awaited below.
    pushing.catch(() => {})
    const faults = await options.inject(crew)
    const faultsEnd = performance.now()
    await pushing
    const undone = await workedOff(direct, load, faultsEnd + mostSeconds * 1000)
    const seconds = (performance.now() - faultsEnd) / 1000
    await crew.stop()
    const left = [...undone, ...crew.complaints, ...((await options.leftovers?.()) ?? [])]
    const stats = await direct.hq.stats()
    const tasks = await Promise.all(
      load.tasks.map(async ({ task: { id }, rows }) => {
        const task = direct.hq.tasks.get(id)
        const status = await task.status()
        const events: EventStatus[] = []
        for await (const event of task.events()) events.push(event.status)
        return { id, rows, status, events }
      }),
    )
    const notes = readNotes(folder)
    return judge({ jobs, load, stats, tasks, notes, faults, kills: crew.killed, seconds, mostSeconds, left })
  } finally {
    crew.kill()
    if (direct !== app) await direct.hq.close()
    await app.hq.close()
  }
}

/** Waits until nothing is left to do; answers what is, when that takes too long. */
async function workedOff({ hq }: ReturnType<typeof chaosApp>, load: Load, end: number): Promise<string[]> {
  for (;;) {
    const { enqueued, backlog, retries, scheduled, fetched: taken } = await hq.store.metrics.totals()
    const states = await Promise.all(load.tasks.map(async ({ task }) => (await hq.tasks.get(task.id).status())?.state))
    const open = states.filter((state) => state !== 'done').length
    const jobs = { enqueued, backlog, retries, scheduled, taken }
    if (open === 0 && Object.values(jobs).every((count) => count === 0)) return []
    if (performance.now() > end) return [`left over: ${JSON.stringify(jobs)}, ${open} tasks`]
    await sleep(50)
  }
}
