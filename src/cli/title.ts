/** Sets the process title: `highkiq 1.2.3 shop [3 of 10 busy] stopping`, plus what the app adds. */

import { PROGRAM } from '../app.ts'
import { type Highkiq, VERSION, type Worker } from '../index.ts'

/** Updates the title every second. Returns the function that stops it. */
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
