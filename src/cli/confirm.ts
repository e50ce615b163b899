/** Asking before something that can't be taken back. */

import { createInterface } from 'node:readline/promises'
import { CliError } from './usage.ts'

/** `question`: without its mark. @throws CliError when the answer is no, or nobody is there to be asked */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new CliError(`${question}? Say so with --yes`, 2)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${question}? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was done')
  } finally {
    lines.close()
  }
}
