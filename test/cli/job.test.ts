/** `highkiq job` on both stores: a job in each of its states. */

import { setTimeout } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
import { describe, expect, test as plainTest } from 'vitest'
import { gate, recorder } from '../engine/bench.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

async function shown(url: string, jid: string | null) {
  const text = await runHere(['job', String(jid), '--url', url])
  const { stdout } = await runHere(['job', String(jid), '--url', url, '--json'])
  return { ...text, view: stdout === '' ? null : JSON.parse(stdout) }
}

async function journey(url: string): Promise<void> {
  const hq = new Highkiq({ url, logger: recorder() })
  const [begun, end] = [gate(), gate()]
  try {
    const Hard = hq.job('Hard', { retry: 2, tags: ['slow'] }, async (ctx, what: string) => {
      if (what === 'fail') {
        ctx.message('asked for it')
        throw new TypeError('broken')
      }
      ctx.progress(1, 4, 'first part')
      begun.open()
      await end.opened
    })
    const Kept = hq.job('Kept', { keepFinished: true }, (ctx, n: number) => {
      ctx.progress(n)
      return n * 2
    })
    const Limited = hq.job('Limited', { limit: { concurrency: 1 } }, () => end.opened)
    const Once = hq.job('Once', { unique: true }, () => {})

    const later = await Once.performIn('1h')
    expect((await shown(url, later)).stdout).toMatch(/^state +scheduled\n.*^locks +\S+\n.* is due$/ms)

    const failing = await Hard.set({ queue: 'other', priority: 3 }).performAsync('fail')
    const queued = await shown(url, failing)
    expect(queued.stdout).toMatch(/^queue +other \(priority 3\)\narguments +"fail"\ntags +slow$/m)
    expect(queued.view).toMatchObject({
      state: 'queued',
      job: { class: 'Hard', args: ['fail'] },
      task: null,
      batch: null,
    })

    const running = await Hard.performAsync('run')
    const limited = [await Limited.performAsync(), await Limited.performAsync()]
    const kept = await Kept.performAsync(21)
    const worker = hq.worker({ queues: ['default', 'other'], concurrency: 5 })
    await worker.start()
    await begun.opened
    const until = async (jid: string | null, state: string) => {
      for (;;) if ((await hq.find(String(jid))).state === state) return
    }
    await Promise.all([until(failing, 'retry'), until(kept, 'succeeded')])
    const { identity } = worker
    expect((await shown(url, running)).view).toMatchObject({ state: 'running', worker: { identity, dead: false } })
    expect((await shown(url, running)).stdout).toMatch(`\nworker     ${identity}\n`)
    const progress = { done: 1, total: 4, note: 'first part' }
    while ((await hq.find(String(running))).progress === undefined) await setTimeout(20)
    const reporting = await shown(url, running)
    expect(reporting.view).toMatchObject({ progress })
    expect(reporting.stdout).toMatch(/^progress +1 of 4, first part$/m)
    const retried = await shown(url, failing)
    expect(retried.stdout).toMatch(
      /^state +failed, and waits for a retry\n.*^failures +1\nerror +TypeError: broken\n/ms,
    )
    expect(retried.stdout).toMatch(/ was created\n.* asked for it\n.* failed\n.* is due again\n$/s)
    expect((await shown(url, kept)).view).toMatchObject({
      ...{ state: 'succeeded', result: 42, progress: { done: 21 } },
    })
    expect((await shown(url, kept)).stdout).toMatch(/^result +42$/m)
    for (;;) {
      const states = await Promise.all(limited.map(async (jid) => (await hq.find(String(jid))).state))
      const waiting = limited[states.indexOf('limited')]
      if (waiting === undefined) continue
      const { stdout, view } = await shown(url, waiting)
      expect(stdout).toMatch(/^limit +job Limited, 1 of 1 slots used, 1 waiting$/m)
      expect(view).toMatchObject({ limit: { kind: 'job', name: 'Limited', concurrency: 1 } })
      break
    }

    const bid = await hq.batch({}, async () => {
      await Hard.performIn('1h', 'member')
    })
    const [member] = (await hq.batches.memberPage(bid)).items
    expect((await shown(url, member?.id ?? '')).stdout).toMatch(`batch      ${bid} (running), 1 of 1 pending`)

    const task = await hq.tasks.create(Hard, [['fail']], { name: 'Rows' })
    const row = `${task.id}00000000`
    expect((await shown(url, row)).stdout).toMatch(new RegExp(`^task +${task.id} \\(Rows, .*row 1: `, 'm'))

    expect(await shown(url, 'nothing')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^highkiq: there is no job nothing: /),
    })
    end.open()
    await worker.stop()
  } finally {
    end.open()
    await hq.close()
  }
}

/** A job of a worker that died, before and after its rescue. */
async function orphan(url: string): Promise<void> {
  const hq = new Highkiq({ url, logger: recorder() })
  try {
    const owner = 'host:1:aa.0'
    const { workers } = hq.store
    const jid = await hq.job('Hard', { retry: 2 }, () => {}).performAsync()
    await workers.join(owner, { queues: ['default'], seconds: 60, host: 'host' })
    const fetch = { queues: ['default'], n: 1 }
    await workers.settleAndFetch(owner, { now: Date.now(), started: [], settlements: [], fetch })
    expect((await shown(url, jid)).view).toMatchObject({
      worker: { identity: 'host:1:aa', startedAt: null, dead: false },
    })
    await workers.claim(owner)
    const { stdout, view } = await shown(url, jid)
    expect(stdout).toMatch(/^state +belongs to a dead worker: .*^worker +host:1:aa \(dead: its lease has ended\)$/ms)
    expect(view).toMatchObject({ state: 'running', worker: { dead: true } })
    const worker = hq.worker({ queues: ['other'] })
    await worker.start()
    for (;;) if ((await hq.find(String(jid))).state === 'queued') break
    await worker.stop()
    expect((await shown(url, jid)).stdout).toMatch(/^state +waits in its queue\n.*^crashes +1$/ms)
  } finally {
    await hq.close()
  }
}

describe('on SQLite', () => {
  test('a job of a dead worker says so, and counts the crash once it is rescued', { timeout: 180_000 }, ({ folder }) =>
    orphan(`sqlite:${folder.at('jobs.db')}`),
  )

  test('a job is shown in every state, with what it waits for', { timeout: 180_000 }, ({ folder }) =>
    journey(`sqlite:${folder.at('jobs.db')}`),
  )

  test('an encrypted argument is not shown', async ({ folder }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    const hq = new Highkiq({ url, encryption: { keys: { 1: '0f'.repeat(32) }, active: 1 } })
    const jid = await hq
      .job('Secret', { encrypt: true }, (_ctx, _a: string, _b: object) => {})
      .performAsync('a', { pin: '1234' })
    await hq.close()
    const { stdout, view } = await shown(url, jid)
    expect(stdout).toMatch(/^arguments +"a", "\[encrypted\]"$/m)
    expect(JSON.stringify(view)).not.toContain('1234')
  })
})

onRedis('on Redis', () => {
  plainTest('a job of a dead worker says so, and counts the crash once it is rescued', { timeout: 180_000 }, async () =>
    orphan((await emptyServer()).url()),
  )

  plainTest('a job is shown in every state, with what it waits for', { timeout: 180_000 }, async () =>
    journey((await emptyServer()).url()),
  )
})
