import { inflateSync } from 'node:zlib'

/** A larger backtrace is not unpacked, so that it cannot fill the memory. */
const MOST_BYTES = 1_000_000

/**
 * Reads a backtrace as Sidekiq stores it: deflated JSON in base64, or a plain array up to Sidekiq 6.0.0. Returns null
 * when there is no readable backtrace.
 */
export function readBacktrace(stored: unknown): string[] | null {
  if (Array.isArray(stored)) return stored.map(String)
  if (typeof stored !== 'string') return null
  try {
    const lines: unknown = JSON.parse(
      inflateSync(Buffer.from(stored, 'base64'), { maxOutputLength: MOST_BYTES }).toString(),
    )
    return Array.isArray(lines) ? lines.map(String) : null
  } catch {
    return null
  }
}
