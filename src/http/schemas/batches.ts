/** Schemas of batches. */

import * as s from './building-blocks.ts'

export const Batch = s.object({
  bid: s.text,
  parent: s.described(s.orNull(s.text), 'the batch of which this one is a member'),
  state: s.oneOf(['running', 'succeeded', 'dead', 'failed']),
  description: s.orNull(s.text),
  data: s.described(s.anything, 'redacted'),
  total: s.count,
  pending: s.count,
  retrying: s.described(s.count, 'the pending jobs whose last attempt failed'),
  dead: s.count,
  failed: s.described(s.count, 'members that ended without success'),
  succeeded: s.count,
  cancelling: s.described(s.boolean, 'whether it was cancelled and has pending jobs'),
  waiting: s.described(
    s.orNull(s.object({ jid: s.text, queue: s.text, onChildFailure: s.oneOf(['fail', 'ignore', 'wait']) })),
    'the job of a flow that waits for the members',
  ),
  callbacks: s.described(
    s.list(
      s.object({
        when: s.oneOf(['onSuccess', 'onComplete', 'onDeath']),
        job: s.text,
        jid: s.text,
        pushedAt: s.orNull(s.time),
      }),
    ),
    'the jobs that it pushes',
  ),
  createdAt: s.time,
  progressAt: s.time,
  completedAt: s.orNull(s.time),
  succeededAt: s.orNull(s.time),
  diedAt: s.orNull(s.time),
})
export const BatchList = s.pageOf(Batch)
export const BatchMember = s.object({
  id: s.described(s.text, 'the jid of a job, or the bid of a nested batch'),
  state: s.oneOf(['waiting', 'retrying', 'dead']),
  batch: s.described(s.orNull(s.text), 'the nested batch, or that in which the job waits for its children'),
})
export const BatchMemberList = s.pageOf(BatchMember)
export const BatchCancelled = s.object({ cancelled: s.described(s.count, 'jobs that will not run (any more)') })
