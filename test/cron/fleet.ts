/**
 * Processes that share cron entries, and whose clocks are moved through a file: over every change of the clocks of many
 * zones, while processes are killed and others come. At the end each tick must have pushed one job.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openStore } from '#dist/store/open.js'
import { expectedTicks, shown } from './oracle.ts'
import { turningPoints } from './zones.ts'

const CHILD = fileURLToPath(new URL('child.js', import.meta.url))
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Around a change of a clock. */
const BEFORE = 4 * HOUR
const AFTER = 6 * HOUR

export type Fault =
  | 'ticks are not compared'
  | 'a tick and its job are two steps'
  | 'zones are ignored'
  | 'what comes twice runs twice'

export interface FleetOptions {
  url: string
  folder: string
  zones: Readonly<Record<string, number>>
  /** Entries for each change of a clock. */
  specs: number
  processes: number
  /** One of them is killed now and then; each also dies by itself at one of its ticks. */
  kills: boolean
  /** Milliseconds between two moves of the clocks, and by how much they move at most. */
  paceMs: number
  stepMs: number
  /** How far the clocks of the processes are apart. */
  skewMs: number
  /** What has not come so long after the last one is not there. */
  patienceMs: number
  random: () => number
  fault?: Fault
}

export interface Outcome {
  ticks: number
  deaths: number
  /** What was not as it should be, in words; no more than a few. */
  complaints: string[]
}

interface Entry {
  name: string
  spec: string
  timeZone: string
  ticks: number[]
}

interface Window {
  from: number
  to: number
}

export async function runFleet(options: FleetOptions): Promise<Outcome> {
  const { url, folder, processes, paceMs, stepMs, random, skewMs, patienceMs } = options
  const dice = (n: number) => Math.floor(random() * n)
  const { entries, windows } = planOf(options, dice)
  const store = openStore(url)
  await store.open()
  const clock = new ClockFile(join(folder, 'clock'), (windows[0]?.from ?? 0) - HOUR)
  const fleet = new Fleet(options, clock.path, entries, dice)
  try {
    for (let n = 0; n < processes; n++) fleet.start((n - 1) * skewMs)
    await fleet.allUp()
    const names = entries.map(({ name }) => name)
    await until(async () => (await store.crons.list()).length === names.length)
    for (const { from, to } of windows) {
      for (let at = from; at <= to; at += 1 + dice(stepMs)) {
        clock.set(at)
        if (options.kills && random() < 0.02) fleet.killOne()
        await sleep(paceMs)
      }
    }
    clock.set((windows.at(-1)?.to ?? 0) + HOUR)
    const expected = entries.flatMap(({ name, ticks }) => ticks.map((tick) => `${name} ${tick}`))
    const found = await settled(
      async () => (await store.jobs.peek('ticks', 0, 100_000)).map(nameOf),
      expected.length,
      patienceMs,
    )
    return {
      ticks: expected.length,
      deaths: fleet.deaths,
      complaints: [...differences(expected, found), ...fleet.complaints],
    }
  } finally {
    await fleet.end()
    await store.close()
  }
}

// -------------------------------------------------------------------------------------------------------- the plan

/** Entries that are due only around the changes of their zones' clocks, and the times that are worth living through. */
function planOf({ zones, specs }: FleetOptions, dice: (n: number) => number): { entries: Entry[]; windows: Window[] } {
  const entries: Entry[] = []
  const windows: Window[] = []
  for (const [timeZone, year] of Object.entries(zones)) {
    for (const point of turningPoints(timeZone, year)) {
      const [from, to] = [point - BEFORE, point + AFTER]
      windows.push({ from, to })
      for (let n = 0; n < specs; n++) {
        const spec = someSpec(timeZone, point, n, dice)
        // The days have other hours, at which the entry is due too.
        const [first, last] = [point - 27 * HOUR, point + 27 * HOUR]
        const ticks = expectedTicks(spec, timeZone, first, last)
        for (const tick of ticks) windows.push({ from: tick - MINUTE, to: tick + MINUTE })
        entries.push({ name: `${timeZone} ${new Date(point).toISOString().slice(0, 10)} ${n}`, spec, timeZone, ticks })
      }
    }
  }
  return { entries, windows: joined(windows) }
}

function someSpec(zone: string, point: number, n: number, dice: (n: number) => number): string {
  const showing = (at: number) => new Date(shown(zone, at) * MINUTE)
  const around = [-HOUR, -MINUTE, 0, 30 * MINUTE, HOUR].map((ms) => showing(point + ms))
  const days = [...new Set(around.map((date) => date.getUTCDate()))].join()
  const months = [...new Set(around.map((date) => date.getUTCMonth() + 1))].join()
  const hours = [...new Set(around.map((date) => date.getUTCHours()))]
  const skipped = (showing(point - MINUTE).getUTCHours() + 1) % 24
  const hour = [skipped, ...hours][dice(hours.length + 1)]
  const times = [
    `${dice(60)} ${hour}`,
    `*/15 ${[...hours, skipped].join()}`,
    `${dice(30)},${30 + dice(30)} ${[...new Set([...hours, skipped])].join()}`,
    `*/20 ${hour}`,
    `${dice(60)} *`,
  ]
  return `${times[n % times.length]} ${days} ${months} *`
}

/** In their order, those that touch made one. */
function joined(windows: readonly Window[]): Window[] {
  const all: Window[] = []
  for (const { from, to } of [...windows].sort((a, b) => a.from - b.from)) {
    const last = all.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else all.push({ from, to })
  }
  return all
}

// ------------------------------------------------------------------------------------------------------- processes

class Fleet {
  deaths = 0
  readonly complaints: string[] = []
  readonly #options: FleetOptions
  readonly #clock: string
  readonly #entries: Entry[]
  readonly #dice: (n: number) => number
  readonly #children = new Set<ChildProcess>()
  readonly #up = new Set<ChildProcess>()
  #ending = false

  constructor(options: FleetOptions, clock: string, entries: Entry[], dice: (n: number) => number) {
    this.#options = options
    this.#clock = clock
    this.#entries = entries
    this.#dice = dice
  }

  /** Another one takes the place of one that dies. */
  start(skew: number): void {
    const { url, fault, kills } = this.#options
    const entries = this.#entries.map(({ name, spec, timeZone }) => ({ name, spec, timeZone }))
    const when = fault === 'a tick and its job are two steps' ? 'between' : ['before', 'during', 'after'][this.#dice(3)]
    const dies = kills ? { at: 5 + this.#dice(60), when } : undefined
    const about = JSON.stringify({ entries, skew, fault, dies })
    const child = spawn(process.execPath, [CHILD, url, this.#clock, about], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#children.add(child)
    child.stdout.once('data', () => this.#up.add(child))
    child.on('close', (code, signal) => {
      this.#children.delete(child)
      this.#up.delete(child)
      if (this.#ending) return
      if (signal !== 'SIGKILL') this.complaints.push(`a process ended by itself: ${code ?? signal}`)
      this.deaths++
      this.start(skew)
    })
  }

  async allUp(): Promise<void> {
    await until(async () => this.#up.size === this.#children.size)
  }

  /** Kills one that works. */
  killOne(): void {
    const up = [...this.#up]
    up[this.#dice(up.length)]?.kill('SIGKILL')
  }

  async end(): Promise<void> {
    this.#ending = true
    for (const child of this.#children) child.kill('SIGKILL')
    await until(async () => this.#children.size === 0)
  }
}

class ClockFile {
  readonly path: string

  constructor(path: string, at: number) {
    this.path = path
    this.set(at)
  }

  /** Nobody reads half of it. */
  set(at: number): void {
    writeFileSync(`${this.path}.next`, String(at))
    renameSync(`${this.path}.next`, this.path)
  }
}

// ---------------------------------------------------------------------------------------------------------- result

function nameOf(text: string): string {
  const { hk_cron, hk_tick } = JSON.parse(text) as { hk_cron: string; hk_tick: number }
  return `${hk_cron} ${hk_tick}`
}

/** What there is when it is enough, and stays so for a moment; or when nothing comes any more. */
async function settled(look: () => Promise<string[]>, enough: number, patienceMs: number): Promise<string[]> {
  let found = await look()
  let changed = performance.now()
  for (;;) {
    await sleep(200)
    const now = await look()
    if (now.length !== found.length) changed = performance.now()
    found = now
    const quietFor = performance.now() - changed
    if (quietFor > (found.length >= enough ? 1000 : patienceMs)) return found
  }
}

function differences(expected: readonly string[], found: readonly string[]): string[] {
  const counts = new Map(expected.map((name) => [name, 0]))
  const complaints: string[] = []
  const last = new Map<string, number>()
  for (const name of found) {
    const times = counts.get(name)
    if (times === undefined) complaints.push(`${told(name)} is no tick`)
    else if (times > 0) complaints.push(`${told(name)} has more than one job`)
    counts.set(name, (times ?? 0) + 1)
    const { entry, tick } = split(name)
    if (tick < (last.get(entry) ?? 0)) complaints.push(`${told(name)} comes after a later one`)
    last.set(entry, tick)
  }
  for (const [name, times] of counts) if (times === 0) complaints.push(`${told(name)} has no job`)
  return complaints.length > 20 ? [...complaints.slice(0, 20), `… ${complaints.length} in all`] : complaints
}

function split(name: string): { entry: string; tick: number } {
  const space = name.lastIndexOf(' ')
  return { entry: name.slice(0, space), tick: Number(name.slice(space + 1)) }
}

function told(name: string): string {
  const { entry, tick } = split(name)
  return `${entry} at ${new Date(tick).toISOString()}`
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20)
}
