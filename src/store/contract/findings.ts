/** What a store finds when it examines its server or its file. */

export const SEVERITIES = ['ok', 'warning', 'error'] as const
/** `warning`: jobs are safe now, but may not be later. `error`: jobs do not run, can't be pushed, or may be lost. */
export type Severity = (typeof SEVERITIES)[number]

export interface Finding {
  /** What was examined, as one word: `disk`. */
  check: string
  severity: Severity
  /** What was found, as a sentence without its full stop. */
  text: string
  /** What to do; always there unless the severity is `ok`. */
  advice?: string
}
