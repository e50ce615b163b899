/** An import during which its importer, its workers and its server are killed again and again, and what became of it. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Highkiq, Task } from 'highkiq'
import { Crew } from './crew.ts'
import { importApp } from './import-jobs.js'
import type { StormTarget } from './on-each-store.ts'

const IMPORTER = fileURLToPath(new URL('importer.js', import.meta.url))
const WORKER = fileURLToPath(new URL('import-worker.js', import.meta.url))

const MOST_FAILURES = 5

export interface ImportStormOptions extends StormTarget {
  rows: number
  kills: number
  random: () => number
}

export interface ImportOutcome {
  complaints: string[]
  kills: { importer: number; worker: number; server: number }
}

/** What becomes of a row, by its index. */
export function fateOf(i: number): 'invalid' | 'price' | 'finished' {
  if (i % 101 === 7) return 'invalid'
  return i % 37 === 5 ? 'price' : 'finished'
}

function writeRows(path: string, rows: number): void {
  const lines = ['sku,price']
  for (let i = 0; i < rows; i++) {
    const fate = fateOf(i)
    lines.push(`${fate === 'invalid' ? '' : `sku-${i}`},${fate === 'price' ? -1 : i}`)
  }
  writeFileSync(path, `${lines.join('\n')}\n`)
}

export async function importStorm(options: ImportStormOptions): Promise<ImportOutcome> {
  const { url, folder, rows, random } = options
  const file = `${folder}/rows.csv`
  writeRows(file, rows)
  const crew = new Crew({ url, folder, processes: 2, concurrency: 10, program: WORKER })
  const importer = new Importer(url, folder, file)
  const kills = { importer: 0, worker: 0, server: 0 }
  const { hq } = importApp(url, folder)
  try {
    await crew.start()
    importer.start()
    for (let i = 0; i < options.kills; i++) {
      await sleep(100 + random() * 400)
      const dice = random()
      if (options.breakServer && (i === 0 || dice > 0.85)) {
        kills.server++
        await options.breakServer(random)
      } else if (dice < 0.4 && !importer.done) {
        kills.importer++
        await importer.replace()
      } else {
        kills.worker++
        await crew.replace(random)
      }
    }
    await importer.untilDone()
    const [first] = (await hq.tasks.list()).items
    const task = hq.tasks.get(first?.id ?? '')
    await task.wait({ every: 50 })
    const complaints = [
      ...(await judge(hq, task, rows)),
      ...(await doneComplaints(folder, task.id)),
      ...crew.complaints,
    ]
    await crew.stop()
    return { complaints, kills }
  } finally {
    importer.kill()
    crew.kill()
    await hq.close()
  }
}

async function judge(hq: Highkiq, task: Task, rows: number): Promise<string[]> {
  const complaints: string[] = []
  const status = await task.status()
  const expected = { finished: 0, failed: 0 }
  for (let i = 0; i < rows; i++) expected[fateOf(i) === 'finished' ? 'finished' : 'failed']++
  if (status?.state !== 'done') complaints.push(`the task is ${status?.state}`)
  if (status?.total !== rows) complaints.push(`${status?.total} rows of ${rows}`)
  const counts = { enqueued: 0, working: 0, error: 0, cancelled: 0, ...expected }
  for (const [name, count] of Object.entries(counts)) {
    const got = status?.counts[name as keyof typeof counts]
    if (got !== count) complaints.push(`${got} ${name}, not ${count}`)
  }
  let index = 0
  for await (const event of task.events()) {
    const fate = fateOf(index)
    if (event.index !== index) complaints.push(`event ${event.index} where ${index} should be`)
    const right = fate === 'finished' ? event.status === 'finished' : event.status === 'failed' && event.code === fate
    if (!right) complaints.push(`row ${index} is ${event.status} (${event.code}), not ${fate}`)
    if (event.number !== index + 2) complaints.push(`row ${index} says that it is row ${event.number} of the file`)
    if (complaints.length > 20) break
    index++
  }
  if (index !== rows && complaints.length === 0) complaints.push(`${index} events for ${rows} rows`)
  if ((await hq.tasks.list()).items.length !== 1) complaints.push('more than one task')
  const { enqueued, backlog, fetched } = await hq.store.metrics.totals()
  // The worker of `Imported` may be the last that was killed.
  if (enqueued + backlog + fetched > 1)
    complaints.push(`${enqueued} jobs in queues, ${backlog} in the backlog, ${fetched} with owners`)
  return complaints
}

/** The last job of a run was pushed once: only one whose worker was killed has run again. */
async function doneComplaints(folder: string, id: string): Promise<string[]> {
  for (let i = 0; i < 400 && !existsSync(`${folder}/done`); i++) await sleep(50)
  const lines = readFileSync(`${folder}/done`, 'utf8').trim().split('\n')
  const runs = lines.map((line) => JSON.parse(line) as { id: string; run: number; crashes: number })
  const first = runs.filter(({ crashes }) => crashes === 0)
  if (first.length > 1 || runs.some((one) => one.id !== id || one.run !== 1)) return [`onDone: ${lines.join(' ')}`]
  return []
}

class Importer {
  readonly #command: string[]
  readonly #env = { ...process.env, HIGHKIQ_LOG_LEVEL: 'error' }
  #process: ReturnType<typeof spawn> | undefined
  #ended: Promise<unknown> = Promise.resolve()
  /** How often it ended by itself before all was stored. */
  #failures = 0
  done = false

  constructor(url: string, folder: string, file: string) {
    this.#command = [IMPORTER, url, folder, file]
  }

  start(): void {
    const child = spawn(process.execPath, this.#command, { stdio: ['ignore', 'ignore', 'inherit'], env: this.#env })
    this.#process = child
    this.#ended = once(child, 'exit').then(([code]) => {
      if (code === 0) this.done = true
      else if (code !== null) this.#failures++
    })
  }

  async replace(): Promise<void> {
    this.kill()
    await this.#ended
    if (!this.done) this.start()
  }

  /** An importer that was killed, or failed because its server was away for too long, is started again. */
  async untilDone(): Promise<void> {
    for (;;) {
      await this.#ended
      if (this.done) return
      if (this.#failures > MOST_FAILURES) throw new Error('the import fails again and again: see stderr for the reason')
      this.start()
    }
  }

  kill(): void {
    this.#process?.kill('SIGKILL')
  }
}
