/** Routes of cron entries. */

import type { Cron, CronInfo } from '../../index.ts'
import { all } from '../../job/json.ts'
import type { Redaction } from '../access/redact.ts'
import { json } from '../server/answer.ts'
import { answer, type Call, get, ok, PUSH_ERRORS, post, type Route } from '../server/route.ts'

const PATH = '/api/v1/cron/{name}'
const TICKS = 5

function cronOf(redaction: Redaction, { next, args, ...info }: CronInfo) {
  return { ...info, args: args && redaction.value(args), next: next(TICKS) }
}

/** Makes a route that changes an entry and returns it. */
function actionRoute(name: string, summary: string, run: (cron: Cron) => Promise<void>): Route {
  return post(`${PATH}/${name}`, {
    id: `${name}CronEntry`,
    errors: ['UNKNOWN_CRON'],
    summary,
    answers: ok('CronEntry', 'The entry after the change'),
    async run({ hq, server, path }) {
      const cron = hq.cron(path.name ?? '')
      await run(cron)
      return json(cronOf(server.redaction, await cron.known()))
    },
  })
}

async function listed({ hq, server }: Call): Promise<Response> {
  const items = (await all(hq.crons())).map((info) => cronOf(server.redaction, info))
  return json({ items, next: null })
}

export const CRON_ROUTES: Route[] = [
  get('/api/v1/cron', {
    id: 'listCronEntries',
    summary: 'Lists the cron entries',
    answers: ok('CronEntryList', 'All entries, by name'),
    run: listed,
  }),
  post(`${PATH}/run`, {
    id: 'runCronEntry',
    errors: [...PUSH_ERRORS, 'UNKNOWN_CRON', 'UNKNOWN_JOB', 'CRON_BUSY'],
    summary: 'Pushes the job of the entry now, even while the entry is paused; the schedule stays the same',
    answers: { 202: answer('Pushed', 'The id of the job; null when client middleware stopped it') },
    run: async ({ hq, path }) => json({ jid: await hq.cron(path.name ?? '').runNow() }, 202),
  }),
  actionRoute('pause', 'Pauses the entry until it is resumed, across deploys', (cron) => cron.pause()),
  actionRoute('resume', 'Resumes the entry from now on; ticks missed during the pause are skipped', (cron) =>
    cron.resume(),
  ),
]
