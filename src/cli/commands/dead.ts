/** `highkiq dead` lists the dead jobs, retries and deletes them. */

import type { Command } from 'commander'
import { DELETE, ERROR, JID, JOB, RETRY, registerSet } from '../job-set.ts'
import { time } from '../output.ts'

export function register(program: Command): void {
  registerSet(program, 'dead', {
    description: 'jobs that used up their retries, newest first',
    noun: 'dead',
    set: (hq) => hq.dead,
    columns: [{ title: 'DIED', of: ({ at }) => time(at) }, ...JOB, ERROR, JID],
    desc: true,
    actions: { retry: RETRY, delete: DELETE },
  })
}
