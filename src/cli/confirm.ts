/** Asks for confirmation before an action that can't be undone. */

import { createInterface } from 'node:readline/promises'
import { CliError } from './usage.ts'

/**
 * Asks `question`, given without its question mark.
 * @throws CliError when the answer is not yes, or standard input is no terminal
 */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new CliError(`${question}? Confirm with --yes`, 2)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${question}? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was done')
  } finally {
    lines.close()
  }
}
