/** What can be sent to a process, which receives it with its next heartbeat. */

const CONCURRENCY = /^CONCURRENCY (\d+) (.+)$/s

/** `CONCURRENCY 20 mail`: capsule `mail` runs 20 jobs at the same time. The others are named like the process signals. */
export type Signal = 'TSTP' | 'TERM' | 'TTIN' | `CONCURRENCY ${number} ${string}`

/** Returns the change that a signal asks for; undefined for any other signal. */
export function readConcurrency(signal: string): { concurrency: number; capsule: string } | undefined {
  const [, concurrency, capsule] = CONCURRENCY.exec(signal) ?? []
  return capsule === undefined ? undefined : { concurrency: Number(concurrency), capsule }
}
