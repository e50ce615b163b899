import { readFileSync } from 'node:fs'

/**
 * Returns the clock of the leases: milliseconds since the machine started. It is the same for all processes on the
 * machine and is never set back, because Node's hrtime is CLOCK_MONOTONIC.
 */
export function monotonicNow(): number {
  return Math.round(monotonicMicros() / 1000)
}

/** Returns the same clock in whole microseconds. */
export function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

export function endIn(seconds: number): number {
  return monotonicNow() + Math.round(seconds * 1000)
}

/** The id of this start of the machine, because a time of another start means nothing now; '' if the system has none. */
export const bootId: string = readBootId()

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

/**
 * Returns whether a stored time was set since the last start of the machine. It was at most `seconds` ahead when it was set.
 * If it is further ahead now, the clock has begun again; this shows a restart also without a boot id.
 */
export function isOfThisStart(ends: number, boot: string, seconds: number, now = monotonicNow()): boolean {
  return boot === bootId && ends <= now + seconds * 1000 + 1000
}

/** Returns whether a time of `monotonicNow` on `boot`, at most `seconds` ahead when it was set, is past. */
export function isPast(ends: number, boot: string, seconds: number, now = monotonicNow()): boolean {
  return ends <= now || !isOfThisStart(ends, boot, seconds, now)
}
