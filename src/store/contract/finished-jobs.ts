/** Finished jobs, as a settlement names them. */

/**
 * A job that is done and kept. With `members`, `text` is the job exactly as it was fetched, and the store appends the
 * members to it: `,"hk_started":1,"hk_result":2`. So a store that has the text need not get it again.
 */
export interface FinishedJob {
  text: string
  score: number
  members?: string
}

/** Consecutive finished jobs with the same score and members. Most jobs of a step have the same. */
export interface FinishedRun {
  size: number
  score: number
  /** Empty if the jobs have none. */
  members: string
}

/** Returns the text that is kept of a finished job. */
export function finishedText(text: string, members = ''): string {
  return members === '' ? text : `${text.slice(0, -1)}${members}}`
}

export function finishedRuns(jobs: readonly FinishedJob[]): FinishedRun[] {
  const runs: FinishedRun[] = []
  let last: FinishedRun | undefined
  for (const { score, members = '' } of jobs) {
    if (last?.score === score && last.members === members) last.size++
    else {
      last = { size: 1, score, members }
      runs.push(last)
    }
  }
  return runs
}
