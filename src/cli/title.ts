/** What `ps` shows: `highkiq 1.2.3 shop [3 of 10 busy] stopping`, and what the app adds. */

import { PROGRAM } from '../app.ts'
import { type Highkiq, VERSION, type Worker } from '../index.ts'

/** Keeps the title right. Answers what ends that. */
export function keepTitle(hq: Highkiq, worker: Worker, tag: string): () => void {
  let stopping = ''
  const set = () => {
    const name = tag ? ` ${tag}` : ''
    const title = `highkiq ${VERSION}${name} [${worker.busy} of ${worker.slots} busy]${stopping}`
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
