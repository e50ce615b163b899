// Medians, what they spread over, and their ratio: a table for people, JSON for the record.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CONCURRENCY, PEERS, WARMUP } from './rounds.js'

const folder = fileURLToPath(new URL('../results', import.meta.url))

export function spread(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  return { median, min: sorted[0], max: sorted.at(-1) }
}

export function printTable(all, { jobs, rounds }) {
  const table = {}
  for (const [measure, figures] of Object.entries(all)) {
    for (const [figure, byPeer] of Object.entries(figures)) {
      const row = {}
      for (const peer of Object.keys(byPeer).sort((a, b) => order(a) - order(b))) {
        const { median, min, max } = spread(byPeer[peer])
        row[peer] = `${shown(median)} (${shown(min)}–${shown(max)})`
      }
      if (isComparable(figure, byPeer)) row['highkiq ÷ bullmq'] = ratio(byPeer).toFixed(2)
      table[`${measure}, ${figure}`] = row
    }
  }
  console.log(
    `${jobs} jobs after ${WARMUP} that are not counted, concurrency ${CONCURRENCY}, median (min–max) of ${rounds} interleaved rounds`,
  )
  console.table(table)
}

/** @returns where it is */
export function saveReport(all, options, versions) {
  const figures = {}
  for (const [measure, named] of Object.entries(all)) {
    figures[measure] = {}
    for (const [figure, byPeer] of Object.entries(named)) {
      const entry = Object.fromEntries(
        Object.entries(byPeer).map(([peer, numbers]) => [peer, { ...spread(numbers), rounds: numbers }]),
      )
      if (isComparable(figure, byPeer)) entry.ratio = ratio(byPeer)
      figures[measure][figure] = entry
    }
  }
  const at = new Date().toISOString()
  const machine = { node: process.version, cores: cpus().length, cpu: cpus()[0].model, ...versions }
  mkdirSync(folder, { recursive: true })
  const path = `${folder}/redis-${at.slice(0, 19).replaceAll(':', '')}.json`
  writeFileSync(
    path,
    `${JSON.stringify({ at, machine, options: { ...options, warmup: WARMUP, concurrency: CONCURRENCY }, figures }, null, 2)}\n`,
  )
  return relative(process.cwd(), path)
}

const isComparable = (figure, { highkiq, bullmq }) => highkiq && bullmq && !figure.endsWith('otherwise')
const ratio = ({ highkiq, bullmq }) => spread(highkiq).median / spread(bullmq).median
const order = (peer) => PEERS.indexOf(peer)

function shown(number) {
  if (number >= 10_000) return `${(number / 1000).toFixed(1)}k`
  return number >= 100 ? number.toFixed(0) : number.toFixed(2)
}
