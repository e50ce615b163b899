/** Routes of tasks, except imports, actions, downloads and streams. */

import type { Highkiq } from '../../../app.ts'
import { EVENT_STATUSES, TASK_STATES } from '../../../index.ts'
import { HighkiqError } from '../../../job/errors.ts'
import { isObject, stringifyJson } from '../../../job/json.ts'
import { given } from '../../../job/options.ts'
import { LANGUAGE_CODES } from '../../../tasks/languages/index.ts'
import { LINK_RIGHTS, type LinkRights, linkEnd } from '../../../tasks/link.ts'
import { checkMetaFilter } from '../../../tasks/meta.ts'
import type { TaskStatus } from '../../../tasks/task.ts'
import { NewExport, NewTask } from '../../schemas/tasks.ts'
import { invalid, json } from '../../server/answer.ts'
import { readBody } from '../../server/body.ts'
import { createOnce, KEY } from '../../server/idempotency.ts'
import { cursor, flag, integer, listOf, membersOf, moment, oneOf, text } from '../../server/parameter.ts'
import { answer, get, ok, PUSH_ERRORS, post, type Route } from '../../server/route.ts'
import { refuseUnknown } from '../../server/schema.ts'
import type { ServerContext } from '../../server/server-context.ts'
import { viewerOf } from '../../server/viewer.ts'
import { refuseHidden } from '../hidden-meta.ts'
import { newlyRejected, readSweep } from './newly-rejected.ts'
import { aboutOf, eventsOf, reasonsOf, searchEvents, statusWithoutMeta } from './queries.ts'

const LARGEST_PAGE = 500
const MOST_REASONS = 10_000
const LOCATION = { location: 'address of its status' }
const rights = oneOf(LINK_RIGHTS, 'read: read-only, the default of a read-only server; change: the default of others')
const expires = moment('when the link ends; without it the link stays valid')
const lang = oneOf(
  LANGUAGE_CODES,
  'language of the messages that are not your own; default from Accept-Language, else en',
)
const limit = integer(1, LARGEST_PAGE, 25, 'items on one page')

export const TASK_ROUTES: Route[] = [
  post('/api/v1/tasks', {
    id: 'createTask',
    errors: [...PUSH_ERRORS, 'UNKNOWN_JOB', 'TOO_MANY_ROWS', 'IDEMPOTENCY_KEY_REUSED', 'UNKNOWN_TASK'],
    summary: 'Creates a task from a list of rows',
    body: { content: { 'application/json': 'NewTask' } },
    answers: {
      200: {
        ...answer('TaskAccepted', 'The task that an earlier request with the same key created'),
        headers: LOCATION,
      },
      202: { ...answer('TaskAccepted', 'Every row is stored'), headers: LOCATION },
    },
    headers: KEY,
    async run({ hq, server, base, request, audit }) {
      const body = await readBody(request, server.limits.bodyBytes)
      if (!isObject(body)) throw invalid("a task must be an object, for example { job: 'HardJob', args: [[1], [2]] }")
      refuseUnknown(NewTask, body, 'a task')
      const { job, args, ...given } = body
      if (typeof job !== 'string') throw invalid('`job` must be the name of a job')
      const options = withCallbacks(hq, given)
      if (!Array.isArray(args)) throw invalid('`args` must be a list with a list of arguments for each row')
      if (args.length > server.limits.rows) {
        const message = `a task can have at most ${server.limits.rows} rows (got ${args.length})`
        throw new HighkiqError('TOO_MANY_ROWS', message, { maxRows: server.limits.rows })
      }
      const rows = args as unknown[][]
      const create = (more: { id?: string }) => hq.tasks.create(hq.jobNamed(job), rows, { ...options, ...more })
      const key = request.headers.get('idempotency-key')
      const { id, isNew } =
        key === null
          ? { id: (await create({})).id, isNew: true }
          : await createOnce(hq, key, stringifyJson(body), {
              create: async (id) => void (await create({ id })),
              goOn: async (id) => void (await hq.tasks.get(id).resumeAdding(hq.jobNamed(job), rows)),
              signal: request.signal,
            })
      const total = (await hq.tasks.get(id).status())?.total ?? args.length
      audit({ count: total, id, job })
      return json({ id, total }, isNew ? 202 : 200, { location: `${base}/api/v1/tasks/${id}` })
    },
  }),
  post('/api/v1/tasks/export', {
    id: 'exportTask',
    errors: [...PUSH_ERRORS, 'UNKNOWN_JOB', 'TOO_MANY_ROWS'],
    summary: 'Begins an export: one job for each page, whose rows become one file',
    body: { content: { 'application/json': 'NewExport' } },
    answers: { 202: { ...answer('TaskAccepted', 'Every page is stored'), headers: LOCATION } },
    async run({ hq, server, base, request, audit }) {
      const body = await readBody(request, server.limits.bodyBytes)
      if (!isObject(body))
        throw invalid("an export must be an object, for example { job: 'ExportPage', pages: [[1], [2]] }")
      refuseUnknown(NewExport, body, 'an export')
      const { job, pages, ...given } = body
      if (typeof job !== 'string') throw invalid('`job` must be the name of a job')
      if (!Array.isArray(pages) || !pages.every(Array.isArray)) {
        throw invalid('`pages` must be a list with a list of arguments for each page')
      }
      if (pages.length > server.limits.rows) {
        const message = `an export can have at most ${server.limits.rows} pages (got ${pages.length})`
        throw new HighkiqError('TOO_MANY_ROWS', message, { maxRows: server.limits.rows })
      }
      const { id } = await hq.tasks.export(hq.jobNamed(job) as never, pages as never, withCallbacks(hq, given))
      audit({ count: pages.length, id, job })
      return json({ id, total: pages.length }, 202, { location: `${base}/api/v1/tasks/${id}` })
    },
  }),
  get('/api/v1/tasks', {
    id: 'listTasks',
    summary: 'Lists all tasks, newest first',
    query: {
      state: oneOf(
        TASK_STATES,
        'only tasks in this state; a search reads at most 2,000 tasks, so a page may have no items',
      ),
      job: text('only tasks of this job'),
      search: text('only tasks whose name contains this text'),
      meta: membersOf('only tasks whose meta has these values: one parameter meta.NAME=VALUE for each, at most four'),
      cursor: cursor((value) => (/^\d+-[0-9a-f]{16}$/.test(value) ? value : undefined)),
      limit,
    },
    answers: ok('TaskList', 'A page'),
    async run({ hq, server, query }) {
      refuseHidden(server.redaction, query.meta)
      const { items, next } = await hq.tasks.list(given(query))
      return json({ items: items.map((status) => shownToOperators(server, status)), next })
    },
  }),
  get('/api/v1/tasks/link', {
    id: 'linkTasks',
    errors: ['READ_ONLY'],
    summary: 'Returns a link for a submitter: it opens the list of the tasks with this meta, without a login',
    audited: true,
    query: {
      meta: membersOf('the meta of the tasks: one parameter meta.NAME=VALUE for each, at most four'),
      rights,
      expires,
    },
    answers: ok('TaskLink', 'The link'),
    async run({ hq, server, base, query, mayChange, audit }) {
      const { meta } = query
      if (!meta) throw invalid('say whose tasks the link opens, for example meta.user=7')
      checkMetaFilter('the link', meta)
      refuseHidden(server.redaction, meta)
      const rights = rightsOf(query, mayChange)
      const until = linkEnd('the link', query.expires, hq.now())
      const token = await server.links.metaToken(meta, { rights, until, isRedacted: server.redaction.isOn })
      audit({ rights, meta, ...endOf(until) })
      const search = new URLSearchParams()
      for (const [name, value] of Object.entries(meta)) search.set(`meta.${name}`, value)
      search.set('token', token)
      return json({ token, rights, url: `${base}/tasks?${search}` })
    },
  }),
  post('/api/v1/tasks/links/revoke', {
    id: 'revokeTaskListLinks',
    summary: 'Ends all links to the list of the tasks with exactly this meta, and those to tasks that it showed',
    query: { meta: membersOf('the meta of the links: one parameter meta.NAME=VALUE for each, at most four') },
    answers: { 204: { description: 'The links open nothing any more' } },
    async run({ hq, server, query: { meta }, audit }) {
      if (!meta) throw invalid('say which links end, for example meta.user=7')
      checkMetaFilter('the links', meta)
      refuseHidden(server.redaction, meta)
      await hq.tasks.revokeLinks(meta)
      audit({ meta })
      return new Response(null, { status: 204 })
    },
  }),
  get('/api/v1/tasks/{id}', {
    id: 'getTask',
    errors: ['UNKNOWN_TASK'],
    summary: 'Returns the status of a task',
    access: 'task',
    query: {
      include: oneOf(['rejected'], 'adds a page of the rows that were rejected since `after` (a row can appear twice)'),
      after: cursor(readSweep),
    },
    answers: ok('TaskStatusWithRejected', 'Its status'),
    async run(call) {
      const { hq, path, query } = call
      const status = await statusWithoutMeta(hq, path)
      const { forOperators, ...formats } = await aboutOf(hq, status.id)
      const { meta } = forOperators
      const visible = call.link ? {} : { ...forOperators, ...(meta ? { meta: call.server.redaction.value(meta) } : {}) }
      const shown = { ...status, ...visible, ...formats }
      if (query.include === undefined) return json(shown)
      return json({ ...shown, rejected: await newlyRejected(call, status, query.after) })
    },
  }),
  get('/api/v1/tasks/{id}/events', {
    id: 'listTaskEvents',
    errors: ['UNKNOWN_TASK'],
    summary: 'Lists the events of the rows, in row order',
    access: 'task',
    query: {
      status: listOf(EVENT_STATUSES, 'only rows with this status'),
      code: text('only rejected rows with this code'),
      withoutCode: flag('only rejected rows without a code'),
      otherCodes: flag('only rejected rows with codes that /reasons counts together'),
      search: text(
        'only rows whose arguments or messages contain this text; a page may have fewer items then, or none',
      ),
      field: membersOf(
        'only rows with this value: one parameter field.NAME=VALUE for each field of a row, or for an argument by its number from 0; pages are as with `search`',
      ),
      cursor: cursor((value) => (/^\d{1,10}$/.test(value) ? Number(value) : undefined)),
      limit,
      lang,
    },
    answers: ok('TaskEventList', 'A page'),
    async run(call) {
      const { status, code, withoutCode, otherCodes, search, field, cursor: after = -1, limit } = call.query
      if ([code !== undefined, withoutCode, otherCodes].filter(Boolean).length > 1) {
        throw invalid('give only one of code, withoutCode and otherCodes')
      }
      const task = await statusWithoutMeta(call.hq, call.path)
      const { language } = viewerOf(call)
      const page = { language, status, code: withoutCode ? null : code, otherCodes, after, limit }
      if (search !== undefined || field) return json(await searchEvents(call, task, page, { search, field }))
      const items = await eventsOf(call, task, page)
      return json({ items, next: items.length === limit ? String(items.at(-1)?.index) : null })
    },
  }),
  get('/api/v1/tasks/{id}/reasons', {
    id: 'listTaskReasons',
    errors: ['UNKNOWN_TASK'],
    summary: 'Counts the rejected rows by code, the most frequent first',
    access: 'task',
    query: {
      samples: integer(0, 10, 0, 'sample rows for each of the 20 most frequent codes'),
      limit: integer(1, MOST_REASONS, undefined, 'only the most frequent codes; `total` counts all (default: all)'),
      lang,
    },
    answers: ok('TaskReasons', 'The reasons'),
    async run(call) {
      const task = await statusWithoutMeta(call.hq, call.path)
      return json({
        ...(await reasonsOf(call, task, { ...call.query, language: viewerOf(call).language })),
        next: null,
      })
    },
  }),
  get('/api/v1/tasks/{id}/rate', {
    id: 'getTaskRate',
    errors: ['UNKNOWN_TASK'],
    summary: 'Returns how many rows ended a second, step by step from the start of the run on',
    answers: ok('TaskRate', 'The rates, at most five seconds old'),
    async run({ hq, server, path }) {
      const { id } = await statusWithoutMeta(hq, path)
      const rate = await server.taskRates(id)
      if (!rate) throw new HighkiqError('UNKNOWN_TASK', `no task has the id ${id}`)
      return json(rate)
    },
  }),
  get('/api/v1/tasks/{id}/link', {
    id: 'linkTask',
    errors: ['UNKNOWN_TASK', 'READ_ONLY'],
    summary: 'Returns a link for the submitter of a task: it opens this task only, without a login',
    audited: true,
    query: { rights, expires },
    answers: ok('TaskLink', 'The link'),
    async run({ hq, server, base, path, query, mayChange, audit }) {
      const rights = rightsOf(query, mayChange)
      const { id } = await statusWithoutMeta(hq, path)
      const until = linkEnd('the link', query.expires, hq.now())
      const token = await server.links.taskToken(id, { rights, until, isRedacted: server.redaction.isOn })
      audit({ rights, ...endOf(until) })
      return json({ token, rights, url: `${base}/tasks/${id}?token=${token}` })
    },
  }),
  post('/api/v1/tasks/{id}/links/revoke', {
    id: 'revokeTaskLinks',
    errors: ['UNKNOWN_TASK'],
    summary: 'Ends all links to this task; the list of a link by meta still leads to it',
    answers: { 204: { description: 'The links open nothing any more' } },
    async run({ hq, path }) {
      const { id } = await statusWithoutMeta(hq, path)
      await hq.tasks.get(id).revokeLinks()
      return new Response(null, { status: 204 })
    },
  }),
]

const endOf = (until: number | undefined) =>
  until === undefined ? {} : { expires: new Date(until * 1000).toISOString() }

/** Returns the rights of a new link. @throws READ_ONLY */
function rightsOf({ rights }: { rights: LinkRights | undefined }, mayChange: boolean): LinkRights {
  if (rights === 'change' && !mayChange) {
    throw new HighkiqError('READ_ONLY', 'This server is read-only, and so are its links: use rights=read.', {
      problem: 'link-rights',
    })
  }
  return rights ?? (mayChange ? 'change' : 'read')
}

function shownToOperators({ redaction }: ServerContext, status: TaskStatus): TaskStatus {
  return status.meta && redaction.isOn ? { ...status, meta: redaction.value(status.meta) } : status
}

/** Returns the options of a task with its callbacks, which the body names. @throws INVALID_REQUEST, UNKNOWN_JOB */
function withCallbacks(hq: Highkiq, options: Record<string, unknown>): object {
  const callbacks = (['onDone', 'onFailure'] as const).flatMap((name) => {
    const job = options[name]
    if (job === undefined) return []
    if (typeof job !== 'string') throw invalid(`\`${name}\` must be the name of a job`)
    return [[name, hq.jobNamed(job)]]
  })
  return { ...options, ...Object.fromEntries(callbacks) }
}
