/** What `ps` shows: `highkiq 1.2.3 shop [3 of 10 busy] stopping`, and what the app adds. */

import { basename, dirname, resolve } from 'node:path'
import { PROGRAM } from '../app.ts'
import { type Highkiq, VERSION, type Worker } from '../index.ts'

/** Keeps the title right. Answers what ends that. */
export function keepTitle(hq: Highkiq, worker: Worker, tag: string): () => void {
  let stopping = ''
  const set = () => {
    const name = tag ? ` ${tag}` : ''
    const title = `highkiq ${VERSION}${name} [${worker.busy} of ${worker.concurrency} busy]${stopping}`
    process.title = hq[PROGRAM].titleOf(title)
  }
  hq.on('quiet', () => {
    stopping = ' stopping'
    set()
  })
  set()
  const timer = setInterval(set, 1000)
  return () => clearInterval(timer)
}

/** The name of the app's folder; of `shop/releases/20261121103000` it is `shop`. */
export function defaultTag(folder = process.cwd()): string {
  const path = resolve(folder)
  const parent = dirname(path)
  return basename(basename(parent) === 'releases' && /^\d+$/.test(basename(path)) ? dirname(parent) : path)
}
