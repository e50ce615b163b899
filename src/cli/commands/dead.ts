/** `highkiq dead`: jobs that will not run again unless somebody says so. */

import type { Command } from 'commander'
import { DELETE, ERROR, JID, JOB, RETRY, registerSet } from '../job-set.ts'
import { time } from '../output.ts'

export function register(program: Command): void {
  registerSet(program, 'dead', {
    description: 'jobs that will not run again unless somebody says so, those first that died last',
    noun: 'dead',
    set: (hq) => hq.dead,
    columns: [{ title: 'DIED', of: ({ at }) => time(at) }, ...JOB, ERROR, JID],
    desc: true,
    acts: { retry: RETRY, delete: DELETE },
  })
}
