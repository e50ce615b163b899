/** What is found when a store, its workers and its jobs are examined, and the checks that find it. */

import { messageOf } from '../../job/errors.ts'

export const SEVERITIES = ['ok', 'warning', 'error'] as const
/** `warning`: jobs are safe now, but may not be later. `error`: jobs do not run, can't be pushed, or may be lost. */
export type Severity = (typeof SEVERITIES)[number]

export interface Finding {
  /** What was examined, as one word: `disk`. */
  check: string
  severity: Severity
  /** Names what was found, for programs and translations. A store that is not Highkiq's own may leave it out. */
  code?: string
  /** The values in `text` and `advice`. */
  params?: Record<string, string | number>
  /** What was found, as a sentence without its full stop. */
  text: string
  /** What to do; always there unless the severity is `ok`. */
  advice?: string
}

/** A finding of a check, without the name of the check. */
export type CheckResult = Omit<Finding, 'check'>
type Results = CheckResult | readonly CheckResult[] | undefined

/** Examines one thing. `ok` results say what was examined; a check that does not apply returns nothing. */
export type Check<View> = (view: View) => Results | Promise<Results>

/** Runs checks at the same time; returns their findings in the order of the checks. `failed` makes the finding of a check that throws. */
export async function runChecks<View>(
  checks: Readonly<Record<string, Check<View>>>,
  view: View,
  failed: (error: string) => CheckResult,
): Promise<Finding[]> {
  const found = Object.entries(checks).map(async ([check, run]) => {
    const results = await Promise.resolve(view)
      .then(run)
      .catch((thrown) => failed(messageOf(thrown)))
    return [results ?? []].flat().map((result) => ({ check, ...result }))
  })
  return (await Promise.all(found)).flat()
}
