/** `highkiq retries`: jobs that failed and will run again. */

import type { Command } from 'commander'
import { DELETE, ERROR, JID, JOB, KILL, RETRY, registerSet } from '../job-set.ts'
import { time } from '../output.ts'

export function register(program: Command): void {
  registerSet(program, 'retries', {
    description: 'jobs that failed and will run again, those first that are due first',
    noun: 'retry',
    set: (hq) => hq.retries,
    columns: [
      { title: 'NEXT RETRY', of: ({ at }) => time(at) },
      { title: 'RETRIES', of: ({ retryCount }) => String(retryCount ?? ''), right: true },
      ...JOB,
      ERROR,
      JID,
    ],
    desc: false,
    acts: { retry: RETRY, kill: KILL, delete: DELETE },
  })
}
