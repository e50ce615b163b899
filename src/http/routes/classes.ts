/** The route of what a form for new jobs of a class shows. */

import type { Highkiq } from '../../app.ts'
import { PROGRAM } from '../../app.ts'
import type { JobRecord } from '../../inspect/record.ts'
import { isDeeperThan, MOST_LEVELS } from '../../job/args.ts'
import { isSealed } from '../../job/encryption.ts'
import { stringifyJson } from '../../job/json.ts'
import { jsonSchemaOf } from '../../tasks/schema-fields.ts'
import type { Redaction } from '../access/redact.ts'
import { json } from '../server/answer.ts'
import { get, ok, type Route } from '../server/route.ts'

/** The most jobs among which the newest is the example. */
const MOST_JOBS = 20
/** Longer arguments are no example for a form. */
const LONGEST_EXAMPLE = 16_384

export const CLASS_ROUTE: Route = get('/api/v1/classes/{class}', {
  id: 'getClass',
  summary: 'Returns what new jobs of a class are made of: its defaults, the schema of its row, and an example',
  answers: ok('JobClass', 'The class; one that this process does not define has only an example'),
  async run({ hq, server, path: { class: name = '' } }) {
    const definition = hq[PROGRAM].jobs().find((one) => one.name === name)
    const { queue = 'default', priority = 0, tags = [], track, encrypt, validate } = definition?.options ?? {}
    return json({
      class: name,
      defined: definition !== undefined,
      defaults: definition ? { queue, priority, tags } : null,
      tracked: track === true,
      encrypted: encrypt === true,
      schema: (validate && jsonSchemaOf(validate)) ?? null,
      ...(await exampleOf(hq, server.redaction, name)),
    })
  },
})

/** Returns the queue and the arguments of the newest job that a short search finds, unless a form could write back what hides parts of them. */
async function exampleOf(hq: Highkiq, redaction: Redaction, name: string) {
  const { items } = await hq.jobs.search({ class: name }, { limit: MOST_JOBS }, redaction.view)
  const createdAt = ({ createdAt }: JobRecord) => createdAt?.getTime() ?? 0
  const [job] = items
    .map(({ job }) => job)
    // The class of an Active Job is that of its wrapper.
    .filter((job) => job.class === name)
    .sort((a, b) => createdAt(b) - createdAt(a))
  if (!job) return { example: null, withheld: null, seenIn: null }
  const seenIn = job.queue
  if (isSealed(job.args.at(-1))) return { example: null, withheld: 'encrypted', seenIn }
  if (redaction.hides('args', job.args)) return { example: null, withheld: 'redacted', seenIn }
  // A push of deeper arguments would be refused.
  const argsText = isDeeperThan(MOST_LEVELS, job.text) ? undefined : stringifyJson(job.args)
  const isShort = argsText !== undefined && argsText.length <= LONGEST_EXAMPLE
  return { example: isShort ? { jid: job.jid, argsText } : null, withheld: null, seenIn }
}
