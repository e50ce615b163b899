import { inflateSync } from 'node:zlib'

/** Nobody reads more, and nothing that was packed larger may fill the memory. */
const MOST_BYTES = 1_000_000

/** As Sidekiq stores it: JSON, deflated, in base64; up to version 6.0.0 a plain array. Null: there is none that can be read. */
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
