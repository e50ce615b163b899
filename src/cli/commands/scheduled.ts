/** `highkiq scheduled` lists the jobs that run later. */

import type { Command } from 'commander'
import { DELETE, ENQUEUE, JID, JOB, KILL, registerSet } from '../job-set.ts'
import { time } from '../output.ts'

export function register(program: Command): void {
  registerSet(program, 'scheduled', {
    description: 'jobs that run later, next due first',
    noun: 'scheduled',
    set: (hq) => hq.scheduled,
    columns: [{ title: 'WHEN', of: ({ at }) => time(at) }, ...JOB, JID],
    desc: false,
    actions: { enqueue: ENQUEUE, kill: KILL, delete: DELETE },
  })
}
