/** The runs of ordered ids, and of all that must not run twice at a time, as their processes noted them. */

import { readdirSync, readFileSync } from 'node:fs'

export interface Freeze {
  pid: number
  from: number
  to: number
}

export interface Run {
  id: string
  began: number
  /** Until when it surely had the id; what a frozen process still does afterwards is fenced off. */
  until: number
  ended: 'done' | 'failed' | 'killed'
  payloads: { n: number; score: number }[]
  /** Whether its process noted that it lost a lease: others may have had the id meanwhile. */
  isLost: boolean
}

/** Reads the notes of all processes; see `ordered-jobs.js`. */
export function readRuns(folder: string, freezes: readonly Freeze[] = []): Run[] {
  const runs: Run[] = []
  for (const file of readdirSync(folder)) {
    const pid = /^notes-(\d+)\.log$/.exec(file)?.[1]
    if (!pid) continue
    const open = new Map<string, Run>()
    const lines = readFileSync(`${folder}/${file}`, 'utf8').split('\n')
    const isLost = lines.some((line) => line.startsWith('lost '))
    for (const line of lines) {
      const [word, call, id = '', at, list = ''] = line.split(' ')
      if (word === 'begin') {
        const payloads = list.split(',').map((one) => {
          const [n, score] = one.split(':').map(Number)
          return { n: n as number, score: score as number }
        })
        const run: Run = { id, began: Number(at), until: Number(at), ended: 'killed', payloads, isLost }
        runs.push(run)
        open.set(`${call} ${id}`, run)
      } else if (word === 'done' || word === 'failed') {
        const run = open.get(`${call} ${id}`) as Run
        run.ended = word
        const frozen = freezes.find((one) => one.pid === Number(pid) && one.from <= Number(at) && run.began <= one.to)
        run.until =
          frozen && frozen.to > run.began ? Math.max(run.began, Math.min(Number(at), frozen.from)) : Number(at)
      }
    }
  }
  return runs
}

/** Returns calls that had one id at the same time. */
export function overlaps(runs: readonly Run[]): string[] {
  const complaints: string[] = []
  const last = new Map<string, Run>()
  const steady = runs.filter(({ isLost }) => !isLost)
  for (const run of steady.toSorted((a, b) => a.began - b.began)) {
    const before = last.get(run.id)
    if (before && run.began < before.until) {
      complaints.push(`id ${run.id} began at ${run.began} while another call had it until ${before.until}`)
    }
    if (!before || run.until > before.until) last.set(run.id, run)
  }
  return complaints.slice(0, 10)
}

/** Returns calls whose payloads came in another order than that of their scores, or twice. */
export function disorder(runs: readonly Run[]): string[] {
  const wrong = runs.filter(({ payloads }) => {
    const ascending = payloads.every(({ score }, i) => i === 0 || score >= (payloads[i - 1]?.score as number))
    return !ascending || new Set(payloads.map(({ n }) => n)).size < payloads.length
  })
  return wrong.slice(0, 10).map(({ id, payloads }) => `id ${id} got ${JSON.stringify(payloads)}`)
}

/** Returns the payloads that began later than one of their id with a higher score, when scores are in the order of the pushes. */
export function outOfOrder(runs: readonly Run[]): string[] {
  const wrong: string[] = []
  const begun = new Set<number>()
  const highest = new Map<string, number>()
  for (const { id, payloads } of runs.toSorted((a, b) => a.began - b.began)) {
    for (const { n, score } of payloads) {
      const most = highest.get(id) ?? 0
      if (!begun.has(n) && score < most) wrong.push(`payload ${n} of id ${id} began after that with score ${most}`)
      begun.add(n)
      highest.set(id, Math.max(most, score))
    }
  }
  return wrong.slice(0, 10)
}
