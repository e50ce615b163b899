import { expect } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { job, NOW, toQueue } from '../conformance/bench.ts'
import { PRODUCER, rows, spec, taskId } from '../conformance/tasks/tracked.ts'
import { fillOrdered } from '../conformance/transfers/ordered.ts'
import { test } from './command.ts'

const ARGS = ['move', '--from', 'sqlite:old.db', '--to', 'sqlite:new.db']

/** Fills old.db with so many jobs. */
async function fill(path: string, jobs: number, more: Record<string, unknown> = {}): Promise<void> {
  const store = openStore(`sqlite:${path}`)
  const items = Array.from({ length: jobs }, (_, n) => toQueue('q', job(n, more)))
  await store.jobs.push(items, NOW)
  await store.close()
}

async function textsOf(path: string): Promise<string[]> {
  const store = openStore(`sqlite:${path}`)
  const texts = await store.jobs.peek('q', 0, 100_000)
  await store.close()
  return texts
}

test('a move that is killed again and again goes on where it was, and each job moves once', {
  timeout: 300_000,
}, async ({ folder }) => {
  await fill(folder.at('old.db'), 20_000)
  const texts = await textsOf(folder.at('old.db'))
  for (let kill = 1; kill <= 4; kill++) {
    const running = folder.start(ARGS)
    await running.waitFor(/moved/)
    running.kill('SIGKILL')
    await running.ended
    // The kill came in the middle of the move.
    expect((await textsOf(folder.at('old.db'))).length).toBeGreaterThan(0)
  }
  const last = await folder.run([...ARGS, '--once', '--json'])
  expect(last).toMatchObject({ code: 0 })
  expect(await textsOf(folder.at('old.db'))).toEqual([])
  expect(await textsOf(folder.at('new.db'))).toEqual(texts)
  expect(last.stderr).toContain(
    'in the new store no worker serves q: start one with `highkiq work --url sqlite:new.db -q q`',
  )
})

test('a dry run counts, a move waits for what stays, and --once does not wait', { timeout: 180_000 }, async ({
  folder,
}) => {
  await fill(folder.at('old.db'), 2)
  await fill(folder.at('old.db'), 1, { bid: 'b' })
  const rest = 'left: 1 job of batches\n'
  const counted = await folder.run([...ARGS, '--dry-run'])
  expect(counted.stdout).toBe(`would move 2 jobs\n${rest}`)
  expect(await textsOf(folder.at('old.db'))).toHaveLength(3)
  const running = folder.start(ARGS)
  await running.waitFor(/2 moved · the old store still has 1 job of batches/)
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 130, stdout: `moved 2 jobs\n${rest}` })
  expect(await folder.run([...ARGS, '--once'])).toMatchObject({ code: 0, stdout: `moved 0 jobs\n${rest}` })
  expect(await folder.run([...ARGS, '--undo'])).toMatchObject({
    code: 0,
    stdout: 'nothing to undo: no move of this store was interrupted\n',
  })
})

test('a move that fails says why, and tasks run in the old store again', { timeout: 180_000 }, async ({ folder }) => {
  const [old, copy] = ['old.db', 'new.db'].map((name) => openStore(`sqlite:${folder.at(name)}`))
  for (const store of [old, copy]) {
    await store?.tasks.create(
      spec(1, { window: 1, template: `{"class":"RowJob","queue":"q","hk_task":"${taskId(1)}"}` }),
    )
    await store?.tasks.addRows(taskId(1), PRODUCER, 0, rows(0, 2), NOW)
    await store?.tasks.endAdding(taskId(1), PRODUCER, NOW)
  }
  const { code, stderr } = await folder.run([...ARGS, '--once'])
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /the new store has a task \w+ already.*: delete that task there, .* or undo the move \(--undo\)/,
  )
  expect(await old?.transfers.movingTasks()).toEqual([])
  expect(await old?.tasks.find(taskId(1))).toMatchObject({ state: 'running', inWindow: 1, backlog: 1 })
  await Promise.all([old?.close(), copy?.close()])
})

test('a dry run and a move say how to pause an ordered queue that a worker serves, and a move pauses one that none serves', {
  timeout: 180_000,
}, async ({ folder }) => {
  const store = openStore(`sqlite:${folder.at('old.db')}`)
  await fillOrdered(store)
  await store.workers.join('h:1:1', { queues: ['o'], seconds: 60, host: 'here' })
  expect(await store.ordered.join('o', 'h:1:1')).toBe(true)
  const advice = 'the ordered queue o moves once it is paused: highkiq ordered pause o --url sqlite:old.db'
  for (const how of ['--dry-run', '--once']) {
    expect(await folder.run([...ARGS, how])).toMatchObject({ code: 0, stderr: expect.stringContaining(advice) })
  }
  await store.ordered.leave('o', 'h:1:1', NOW)
  expect(await folder.run([...ARGS, '--once'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      'paused the ordered queue o in the old store, because its ids move; it stays paused',
    ),
  })
  await store.close()
})

test('a move refuses wrong stores, and says what is right', { timeout: 180_000 }, async ({ folder }) => {
  await fill(folder.at('old.db'), 1)
  const same = await folder.run(['move', '--from', 'sqlite:old.db', '--to', 'sqlite:./old.db'])
  expect(same).toMatchObject({ code: 2 })
  expect(same.stderr).toMatch(/are the same store, or one is a copy of the other: name two stores/)
  const missing = await folder.run(['move', '--from', 'sqlite:none.db', '--to', 'sqlite:new.db'])
  expect(missing).toMatchObject({ code: 1 })
  expect(missing.stderr).toMatch(/none\.db does not exist: .*--from names the wrong store/)
  const unreachable = await folder.run(['move', '--from', 'sqlite:old.db', '--to', 'redis://localhost:1'])
  expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining('localhost:1') })
  expect(unreachable.stderr).not.toContain('trying again')
  const nowhere = await folder.run(['move', '--from', 'sqlite:old.db'])
  expect(nowhere).toMatchObject({
    code: 2,
    stderr: 'highkiq: --to is missing: give the URL of the new store, such as --to redis://localhost:6379\n',
  })
  const both = await folder.run([...ARGS, '--undo', '--once'])
  expect(both).toMatchObject({
    code: 2,
    stderr: "highkiq: --undo can't be combined with --once or --dry-run: give it alone\n",
  })
  const counted = await folder.run([...ARGS, '--dry-run', '--once'])
  expect(counted).toMatchObject({
    code: 2,
    stderr: "highkiq: --dry-run can't be combined with --once: it only counts, so it never waits\n",
  })
})
