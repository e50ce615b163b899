/** `highkiq retries` lists the jobs that wait for a retry. */

import type { Command } from 'commander'
import { DELETE, ERROR, JID, JOB, KILL, RETRY, registerSet } from '../job-set.ts'
import { time } from '../output.ts'

export function register(program: Command): void {
  registerSet(program, 'retries', {
    description: 'jobs that failed and wait for a retry, next due first',
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
    actions: { retry: RETRY, kill: KILL, delete: DELETE },
  })
}
