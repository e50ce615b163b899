/** Asks for confirmation, and handles Ctrl-C. */

import { createInterface } from 'node:readline/promises'
import { signalCopies } from '../job/signal-copies.ts'
import { io } from './io.ts'
import { CliError } from './usage.ts'

/**
 * Asks `question`, given without its question mark.
 * @throws CliError when the answer is not yes, or standard input is not a terminal
 */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!io().stdin.isTTY || !io().stderr.isTTY) throw new CliError(`${question}? Confirm with --yes`, 2)
  const lines = createInterface({ input: io().stdin, output: io().stderr })
  try {
    const answer = await lines.question(`${question}? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was done')
  } finally {
    lines.close()
  }
}

const CODES = { SIGINT: 130, SIGTERM: 143 } as const

export interface Interrupt {
  readonly signal: AbortSignal
  /** Exit code for the signal that came. */
  readonly exitCode: number
  /** Removes the signal handlers. */
  release(): void
}

/** The first Ctrl-C (or SIGTERM) runs `first`, and by default aborts `signal`; the second ends the process at once. */
export function onInterrupt(first?: (abort: () => void) => void): Interrupt {
  const controller = new AbortController()
  const isCopy = signalCopies()
  let exitCode = 0
  const handler = (name: NodeJS.Signals) => {
    if (isCopy()) return
    const again = exitCode !== 0
    exitCode = CODES[name as keyof typeof CODES]
    if (again) process.exit(exitCode)
    const abort = () => controller.abort()
    if (first) first(abort)
    else abort()
  }
  for (const name of Object.keys(CODES)) process.on(name, handler)
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode
    },
    release: () => {
      for (const name of Object.keys(CODES)) process.off(name, handler)
    },
  }
}
