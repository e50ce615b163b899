/** Wrong options are refused before anything happens. */
import type { Highkiq, Job, Task } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench } from '../engine/bench.ts'

const FILE = Buffer.from('sku\na\nb\n')

interface Made {
  hq: Highkiq
  Row: Job<[row: object]>
  task: Task
}

async function made(): Promise<Made & Bench> {
  const about = bench()
  const Row = about.hq.job('Row', async (_ctx, _row: object) => {})
  const task = await about.hq.tasks.create(Row, [[{}]], { queue: 'nobody' })
  return { ...about, Row, task }
}

type Ask = (made: Made) => Promise<unknown>
const imported =
  (options: unknown): Ask =>
  ({ hq, Row }) =>
    hq.tasks.import(Row, FILE, options as object)
const created =
  (options: unknown): Ask =>
  ({ hq, Row }) =>
    hq.tasks.create(Row, [[{}]], options as object)
const exported =
  (options: unknown): Ask =>
  ({ hq, Row }) =>
    hq.tasks.export(Row as never, [[{}]], options as object)
const retried =
  (options: unknown): Ask =>
  ({ task }) =>
    task.retry(options as object)
const events =
  (options: unknown): Ask =>
  ({ task }) =>
    task.events(options as object).next()

test.each<[what: string, ask: Ask, words: RegExp]>([
  ['dryRun', imported({ dryRun: 'yes' }), /tasks.import: dryRun must be true or false \(got "yes"\)/],
  ['allowDuplicate', imported({ allowDuplicate: 1 }), /tasks.import: allowDuplicate must be true or false \(got 1\)/],
  ['sheet', imported({ sheet: true }), /sheet must be the name of a sheet, or its number from 0 \(got true\)/],
  ['sheet below 0', imported({ sheet: -1 }), /sheet must be the name/],
  ['maxRows', imported({ maxRows: -1 }), /maxRows must be a whole number above 0 \(got -1\)/],
  ['rowKey', imported({ rowKey: () => '' }), /rowKey must be a string that is not empty \(got a function\)/],
  ['format', imported({ format: 'xls' }), /format must be one of 'csv', 'xlsx', 'ndjson' \(got "xls"\)/],
  ['delimiter', imported({ delimiter: 5 }), /delimiter must be a string that is not empty \(got 5\)/],
  ['encoding', imported({ encoding: true }), /encoding must be a string that is not empty \(got true\)/],
  ['columns', imported({ columns: 'sku' }), /columns must be a list of names or an object/],
  ['resume', imported({ resume: true }), /resume must be a string that is not empty \(got true\)/],
  ['id', imported({ id: 'x' }), /id must be 16 hex digits/],
  ['a near name', imported({ dryrun: true }), /no option dryrun; did you mean dryRun\? There are name, /],
  ['no options', imported('csv'), /tasks.import: options must be an object \(got "csv"\)/],
  [
    'a source',
    ({ hq, Row }) => hq.tasks.import(Row, { path: 'x' } as never),
    /the second argument must be the path of a file/,
  ],
  [
    'a job',
    ({ hq }) => hq.tasks.import('Row' as never, FILE),
    /tasks.import: the first argument must be a job.*got "Row"/,
  ],
  [
    'a job of create',
    ({ hq }) => hq.tasks.create((() => {}) as never, []),
    /tasks.create: the first argument must be a job/,
  ],
  ['a job of export', ({ hq }) => hq.tasks.export(null as never, []), /tasks.export: the first argument must be a job/],
  [
    'a job of add',
    ({ task }) => task.add({} as never, []),
    /task.add: the first argument must be a job.*got an object/,
  ],
  [
    'a job of resumeAdding',
    ({ task }) => task.resumeAdding({} as never, []),
    /task.resumeAdding: the first argument must be a job/,
  ],
  ['queue', created({ queue: 'a b' }), /not a queue name/],
  ['onStart', created({ onStart: true }), /onStart must be a function \(got true\)/],
  ['rows at most', created({ maxRows: 0 }), /maxRows must be a whole number above 0 \(got 0\)/],
  ['keepArgs', created({ keepArgs: true }), /keepArgs must be one of/],
  ['columns of an export', exported({ columns: 'id' }), /columns must be a list of field names/],
  ['artifacts', exported({ artifacts: 1 }), /artifacts must be 'store' or the path/],
  ['rows at most of add', ({ task, Row }) => task.add(Row, [], { maxRows: 1.5 }), /maxRows must be a whole number/],
  ['status', retried({ status: 'failed' }), /status must be a list of failed, error, cancelled \(got "failed"\)/],
  ['a status', retried({ status: ['finished'] }), /status must be a list of .* \(got "finished"\)/],
  ['code', retried({ code: 5 }), /task.retry: code must be a string \(got 5\)/],
  ['rows', retried({ rows: {} }), /rows must be a list of \{ index, args/],
  ['report', retried({ report: 5 }), /task.retry: report must be the path of a file/],
  ['report and status', retried({ report: FILE, status: ['failed'] }), /in one way: by status or code, or by report/],
  ['report and rows', retried({ report: FILE, rows: [] }), /in one way: by rows, or by report/],
  ['rows and code', retried({ rows: [], code: 'x' }), /in one way: by status or code, or by rows/],
  ['as alone', retried({ as: { columns: ['a'] } }), /`as` applies only to a report/],
  [
    'as',
    retried({ report: FILE, as: { colums: ['a'] } }),
    /task.retry: as: there is no option colums; did you mean columns/,
  ],
  ['a name', retried({ stauts: [] }), /no option stauts; did you mean status/],
  ['every', ({ task }) => task.wait({ every: 0 }), /task.wait: every must be a number above 0 \(got 0\)/],
  ['every as text', ({ task }) => task.wait({ every: '1s' as never }), /every must be a number above 0 \(got "1s"\)/],
  ['signal', ({ task }) => task.wait({ signal: {} as never }), /signal must be an AbortSignal/],
  ['onProgress', ({ task }) => task.wait({ onProgress: 1 as never }), /onProgress must be a function/],
  ['events', events({ status: ['done'] }), /task.events: status must be a list of enqueued, .* \(got "done"\)/],
  ['behind', events({ after: 'x' }), /after must be a whole number/],
  ['events named', events({ states: [] }), /no option states/],
  ['list', ({ hq }) => hq.tasks.list({ state: 'ended' as never }), /state must be one of 'adding', .* \(got "ended"\)/],
  ['limit', ({ hq }) => hq.tasks.list({ limit: 0 }), /tasks.list: limit must be a whole number above 0 \(got 0\)/],
  ['cursor', ({ hq }) => hq.tasks.list({ cursor: 'x' }), /cursor must be the `next` of the answer before/],
  ['job', ({ hq }) => hq.tasks.list({ job: 5 as never }), /job must be a string that is not empty \(got 5\)/],
  ['a setting', ({ task }) => task.set({ windows: 5 } as never), /no option windows; did you mean window/],
  ['name', ({ task }) => task.set({ name: 5 as never }), /name must be a string/],
  ['a window', ({ task }) => task.set({ window: 1e99 }), /window must be a whole number above 0/],
  ['a tolerance', ({ task }) => task.set({ maxFailures: 1e99 }), /maxFailures must be a number of rows/],
  ['report of', ({ task }) => task.report({ format: 'pdf' as never }), /task.report: format must be one of/],
  [
    'rows of',
    ({ task }) => task.report({ format: 'csv', rows: 'failed' as never }),
    /rows must be one of 'rejected', 'all'/,
  ],
  ['path', ({ task }) => task.report(''), /the path of a file/],
  ['download', ({ task }) => task.download({ wait: 1 as never }), /task.download: wait must be true or false/],
  ['reason', ({ task }) => task.cancel(5 as never), /reason must be a string/],
])('%s', async (_what, ask, words) => {
  const t = await made()
  await expect((async () => ask(t))()).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(words),
  })
  // Nothing was done.
  expect((await t.hq.tasks.list()).items).toMatchObject([{ id: t.task.id, state: 'running', run: 1, total: 1 }])
})

test('more rows than maxRows are refused; those before stay, and the task shows them', async () => {
  const { hq, Row, task } = await made()
  const rows = Array.from({ length: 2500 }, (): [object] => [{}])
  const thrown = await hq.tasks.create(Row, rows, { maxRows: 2000 }).catch((error) => error)
  expect(thrown).toMatchObject({
    code: 'TOO_MANY_ROWS',
    message: expect.stringMatching(/more than 2000 rows .*in task/),
    details: { maxRows: 2000, row: 2001 },
  })
  expect(await hq.tasks.get(thrown.details.task).status()).toMatchObject({ state: 'interrupted', total: 2000 })
  const pages = hq.tasks.export(Row as never, rows as never, { maxRows: 1 })
  await expect(pages).rejects.toMatchObject({ code: 'TOO_MANY_ROWS' })
  await expect(task.add(Row, rows, { maxRows: 3 })).rejects.toMatchObject({ details: { maxRows: 3, task: task.id } })
  expect(await task.status()).toMatchObject({ state: 'running', total: 4 })
  expect(await task.add(Row, rows.slice(0, 3), { maxRows: 3 })).toBe(3)
})
