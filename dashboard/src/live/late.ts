/** Figures that are older than this were not late: the server's clock was set back. */
const MOST_LATE_MS = 60_000

/** Returns whether figures of a time came too late, because newer ones are shown. */
export function isLate(at: string, shown: string | undefined): boolean {
  const age = shown === undefined ? 0 : Date.parse(shown) - Date.parse(at)
  return age > 0 && age < MOST_LATE_MS
}
