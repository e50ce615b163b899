import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { openDriver } from '#dist/store/sqlite/file/driver.js'
import { migrations } from '#dist/store/sqlite/sql.generated.js'
import { expectExact, jidOf, taskId } from '../conformance/tracked.ts'

/** Those before tasks had a whole life. */
const BEFORE = 7
const NOW = Date.UTC(2026, 4, 17, 12)

test('tasks of a file from before pauses, several producers and runs continue where they were', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-migration-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'jobs.db')
  const old = await openDriver(path)
  for (const migration of migrations.slice(0, BEFORE)) old.exec(migration)
  const states = ['adding', 'running', 'interrupted', 'done']
  for (const [i, state] of states.entries()) {
    const done = state === 'done'
    // One row finished, one failed, one in the queue, one waits in the backlog, one as a row; of a task that is done two.
    old.exec(`
      INSERT INTO task (key, id, name, job, queue, template, window, keep_params, meta, adder, state, total, next,
        held, placed, enqueued, finished, failed, created_at, finished_at)
      VALUES (${i + 1}, '${taskId(i + 1)}', 'old', 'J', 'q${i}', '{"class":"J"}', 1, 'all', '{}', 'a${i}', '${state}',
        ${done ? '2, 2, 0, 0, 0' : '5, 4, 2, 1, 3'}, 1, 1, ${NOW}, ${done ? NOW : 'NULL'});
      INSERT INTO adder (task, token, cursor) VALUES (${i + 1}, 'a${i}', ${done ? 2 : 5});
      INSERT INTO event (task, idx, status, place, run, step, code, args) VALUES
        (${i + 1}, 0, 2, 2, 1, 3, NULL, '[0]'), (${i + 1}, 1, 3, 2, 1, 3, 'bad', '[1]');`)
    if (done) continue
    old.exec(`
      INSERT INTO event (task, idx, status, place, run, step, args) VALUES
        (${i + 1}, 2, 0, 1, 1, 1, '[2]'), (${i + 1}, 3, 0, 0, 1, 3, '[3]'), (${i + 1}, 4, 0, 1, 1, 1, '[4]');
      INSERT INTO backlog VALUES (${i + 1}, -1, 3, '{"jid":"${jidOf(taskId(i + 1), 3)}","hk_run":1}');
      INSERT INTO message VALUES (${i + 1}, 1, 1, ${NOW}, 'no', '{}');`)
  }
  old.exec(`PRAGMA application_id = ${0x484b4951}; PRAGMA user_version = ${BEFORE}`)
  old.close()

  const store = openStore(`sqlite:${path}`)
  onTestFinished(() => store.close())
  const [adding, running, interrupted, done] = states.map((_, i) => ({ id: taskId(i + 1) }))
  if (!adding || !running || !interrupted || !done) throw new Error('four tasks were made')
  for (const task of [adding, running, interrupted, done]) await expectExact({ store }, task)
  expect(await store.tasks.find(adding.id)).toMatchObject({ state: 'adding', adding: true, backlog: 2, inWindow: 1 })
  expect(await store.tasks.find(interrupted.id)).toMatchObject({ state: 'interrupted', adding: false })
  expect(await store.tasks.reasons(running.id)).toEqual([{ status: 'failed', code: 'bad', count: 1 }])
  expect(await store.tasks.event(jidOf(running.id, 1))).toMatchObject({
    messages: [{ at: NOW, code: 'no', params: {} }],
  })

  expect(await store.tasks.addRows(adding.id, 'a0', 5, [{ args: '[5]' }], NOW)).toEqual({ ok: true, total: 6 })
  expect(await store.tasks.endAdding(adding.id, 'a0', NOW)).toMatchObject({ ok: true })
  expect(await store.tasks.find(adding.id)).toMatchObject({ state: 'running' })
  expect(await store.tasks.openAdding(interrupted.id, 'b', NOW, 'a2')).toEqual({ ok: true, total: 5 })
  expect(await store.tasks.find(interrupted.id)).toMatchObject({ state: 'adding' })
  await store.tasks.change(running.id, { window: 9 }, NOW)
  const jids = (await store.jobs.peek('q1', 0, 9)).map((text) => (JSON.parse(text) as { jid: string }).jid)
  expect(jids).toEqual([jidOf(running.id, 3), jidOf(running.id, 4)])
  expect(await store.tasks.startRun(done.id, 1, 'b', NOW)).toBe('ok')
  expect(await store.tasks.expired(NOW + 31 * 86_400_000, 9)).toEqual([])
  for (const task of [adding, running, interrupted, done]) await expectExact({ store }, task)
})
