/** Schemas of new jobs: pushed, duplicated, or filled in by a form; and of edits. */

import * as v from 'valibot'
import * as s from './building-blocks.ts'

const PRIORITY = 'a whole number from 0 to 9'

export const NewJob = s.described(
  v.looseObject({
    class: v.pipe(s.text, v.minLength(1)),
    args: s.anyList,
    queue: s.optional(s.text),
    priority: s.described(s.optional(v.pipe(s.number, v.integer())), '0 to 9, in its queue'),
    at: s.described(s.optional(s.when), 'when: ISO 8601, or seconds since the epoch'),
    in: s.described(s.optional(v.union([s.text, s.number, s.anyObject])), "from now: seconds, '5m', { minutes: 5 }"),
    jid: s.described(s.optional(s.text), 'a job with this id is not stored a second time while it waits or runs'),
    unique: s.described(
      s.optional(
        v.union([
          s.boolean,
          s.object({
            for: s.described(
              s.optional(v.union([s.text, s.number])),
              "how long the job keeps its lock: 'until-success' (default), 'until-start', 'pending', '10m' or seconds",
            ),
            by: s.described(
              s.optional(s.text),
              "the path of what is unique in the arguments, such as '0.customer'; default: all arguments",
            ),
            onConflict: s.described(
              s.optional(s.oneOf(['drop', 'raise', 'replace', 'debounce'])),
              'what happens while another job has the lock; default: drop, which answers its jid',
            ),
          }),
        ]),
      ),
      'overrides that of the class; `false`: the push takes no lock',
    ),
    retry: s.optional(v.union([s.boolean, v.pipe(s.number, v.integer())])),
    retryFor: s.optional(s.number),
    expiresIn: s.optional(s.number),
    tags: s.optional(s.list(s.text)),
  }),
  'Other members are copied to the payload.',
)
export const Pushed = s.object({
  jid: s.orNull(s.text),
  existing: s.described(
    s.optional(s.boolean),
    'true: nothing was stored. `jid` is that of the job that has the lock of this unique one, or that was pushed with this jid before',
  ),
})
export const AllPushed = s.object({
  jids: s.list(s.orNull(s.text)),
  existing: s.described(
    s.optional(s.list(s.count)),
    'the positions in `jids` of jobs that were there before: they have the locks of these unique ones, or their jids',
  ),
})
export const NewJobs = v.union([NewJob, s.list(NewJob)])
export const PushedJobs = v.union([Pushed, AllPushed])

const Callback = s.described(
  v.looseObject({ class: v.pipe(s.text, v.minLength(1)), args: s.optional(s.anyList), queue: s.optional(s.text) }),
  'a job; its arguments are the bid, and then `args`. Other members are options, as of a new job.',
)
const callback = s.optional(s.must(Callback, "an object such as { class: 'Report' }"))
export const NewBatch = s.object({
  jobs: s.must(s.list(NewJob), "an array of jobs, such as { class: 'HardJob', args: [] }"),
  description: s.optional(s.must(s.text, 'a string')),
  data: s.described(s.optional(s.anything), 'at most 16 kB; the callbacks can read it'),
  keep: s.described(s.optional(v.union([s.text, s.number])), "seconds or '7d', from its end on"),
  onSuccess: callback,
  onComplete: callback,
  onDeath: callback,
})
const NEW_IDS = { jids: s.list(s.orNull(s.text)), existing: s.optional(s.list(s.count)) }
export const BatchPushed = s.described(
  s.object({ bid: s.text, ...NEW_IDS }),
  'The positions in `existing` are those of jobs that were there before: they have the locks of these unique ones, or their jids, and are not in the batch. After a lost answer of the store some may be missing.',
)
export const JobsAdded = s.object(NEW_IDS)
export const NewFlow = s.described(
  v.looseObject({
    class: v.pipe(s.text, v.minLength(1)),
    args: s.optional(s.anyList),
    children: s.described(s.optional(s.list(s.anyObject)), 'the jobs that run before it, each like this object'),
    onChildFailure: s.optional(s.oneOf(['fail', 'ignore', 'wait'])),
    keep: s.described(
      s.optional(v.union([s.text, s.number])),
      "how long the results of children are kept: seconds or '30d'; children can't have it",
    ),
  }),
  'Other members are options, as of a new job.',
)
export const FlowPushed = s.object({
  jid: s.described(
    s.orNull(s.text),
    'the job that runs last; null when client middleware stopped a job: nothing is stored',
  ),
  bid: s.described(s.orNull(s.text), 'the batch of its children; null without children'),
})

export const JobClass = s.object({
  class: s.text,
  defined: s.described(s.boolean, 'whether this process defines it'),
  defaults: s.described(
    s.orNull(s.object({ queue: s.text, priority: s.count, tags: s.list(s.text) })),
    'null when this process does not define it',
  ),
  tracked: s.boolean,
  encrypted: s.described(s.boolean, 'whether the last argument of its jobs is encrypted'),
  schema: s.described(
    s.orNull(s.anyObject),
    'JSON Schema of the row that its schema (`validate`) takes, if the schema gives it: see `validate=1` of a push',
  ),
  example: s.described(
    s.orNull(s.object({ jid: s.text, argsText: s.text })),
    'a job of the class, the newest that a short search found, with its arguments as JSON',
  ),
  withheld: s.described(
    s.orNull(s.oneOf(['redacted', 'encrypted'])),
    'why `example` is null although such jobs exist: parts of the arguments are hidden',
  ),
  seenIn: s.described(s.orNull(s.text), 'the queue of the newest job that a short search found'),
})
export const EditedArgs = s.object({ args: s.must(s.anyList, 'an array, one element for each argument') })
export const DuplicateChanges = s.rule(
  s.object({
    args: s.optional(s.must(s.anyList, 'an array, one element for each argument')),
    queue: s.optional(s.must(s.text, 'the name of a queue')),
    priority: s.optional(s.must(v.pipe(s.number, v.integer(), v.minValue(0), v.maxValue(9)), PRIORITY)),
    tags: s.optional(s.must(s.list(s.text), 'an array of strings')),
    ...s.later,
  }),
  ({ at, in: wait }) => at === undefined || wait === undefined,
  'a job can have `at` or `in`, not both',
)
export const Duplicated = s.object({
  jid: s.described(s.orNull(s.text), 'null when client middleware stopped the push'),
})
