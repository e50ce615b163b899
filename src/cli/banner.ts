/** How `highkiq work` says hello on a terminal. */

import { styleText } from 'node:util'

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
  concurrency: number
}

export function banner({ version, store, queues, concurrency }: Facts, out: NodeJS.WriteStream): string {
  const facts = [
    ['version', version],
    ['store', store],
    ['queues', queues.join(' ')],
    ['concurrency', String(concurrency)],
  ] as const
  const lines = facts.map(([label, value]) => `${styleText('dim', label.padEnd(12), { stream: out })}${value}`)
  return `${styleText('cyan', ART, { stream: out })}\n\n${lines.map((line) => `  ${line}`).join('\n')}\n\n`
}
