/** The banner of `highkiq work` on a terminal, and the title of its process. */

import { styleText } from 'node:util'
import { PROGRAM } from '../app.ts'
import { type Highkiq, VERSION, type Worker } from '../index.ts'

const ART = String.raw`
 _     _       _     _    _
| |__ (_) __ _| |__ | | _(_) __ _
| '_ \| |/ _' | '_ \| |/ / |/ _' |
| | | | | (_| | | | |   <| | (_| |
|_| |_|_|\__, |_| |_|_|\_\_|\__, |
         |___/                 |_|`.replaceAll("_'", '_`')

export interface Facts {
  version: string
  store: string
  queues: readonly string[]
  /** Sum over all capsules. */
  concurrency: number
  /** The concurrency of the ordered queues. */
  orderedConcurrency?: number
  /** Capsules beside the worker's own queues. */
  capsules?: readonly string[]
  /** Path of the configuration file. */
  config?: string
}

export function banner(
  { version, store, queues, capsules = [], concurrency, orderedConcurrency, config }: Facts,
  out: NodeJS.WriteStream,
): string {
  const facts = [
    ['version', version],
    ['store', store],
    ['queues', queues.join(' ')],
    ...capsules.map((capsule) => ['capsule', capsule] as const),
    ['concurrency', String(concurrency)],
    ...(orderedConcurrency ? [['ordered', `${orderedConcurrency} batches at the same time`] as const] : []),
    ...(config ? [['config', config] as const] : []),
  ] as const
  const lines = facts.map(([label, value]) => `${styleText('dim', label.padEnd(12), { stream: out })}${value}`)
  return `${styleText('cyan', ART, { stream: out })}\n\n${lines.map((line) => `  ${line}`).join('\n')}\n\n`
}

/**
 * Sets the process title every second: `highkiq 1.2.3 shop [3 of 10 busy] stopping`, plus the text that the app adds.
 * Returns the function that stops this.
 */
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
