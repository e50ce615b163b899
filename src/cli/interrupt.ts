/** Handles Ctrl-C for commands that run until it comes. */

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
  let exitCode = 0
  const handler = (name: NodeJS.Signals) => {
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
