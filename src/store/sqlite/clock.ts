import { readFileSync } from 'node:fs'

/**
 * The clock of the leases: milliseconds since the machine started, the same for all processes on it, never set back.
 * (Node's hrtime is CLOCK_MONOTONIC.)
 */
export function monotonicNow(): number {
  return Math.round(Number(process.hrtime.bigint() / 1000n) / 1000)
}

/** Names this start of the machine: a time of another start means nothing here. Empty where the system does not tell. */
export const bootId: string = readBootId()

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

/** Whether a time of `monotonicNow` on `boot` is past. One too far ahead is of an earlier start of the machine. */
export function isPast(ends: number, boot: string, seconds: number, now = monotonicNow()): boolean {
  return boot !== bootId || ends <= now || ends > now + seconds * 1000 + 1000
}
