import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventEffect, TaskPart } from '#dist/store/contract.js'
import { lua } from '#dist/store/redis/lua.generated.js'
import { done, job, NOW, requestOf, toQueue } from '../conformance/bench.ts'
import { apart } from '../conformance/tasks/apart.ts'
import { change, jidOf, PRODUCER, rows, spec, taskId } from '../conformance/tasks/tracked.ts'
import { type Contents, faultsOf, locationsOf } from './census.ts'
import { commandsDuring, scriptOf } from './monitor.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'
import { STREAMS, TASK, World } from './world.ts'

/**
 * Another program may have stored anything in any key. Each operation first runs in a world where all is well; the
 * server shows which keys it gives to scripts, and which ones it writes itself. Then it runs in worlds where one of
 * these keys has another type, and again when that key is mended. No job may be lost or doubled, the key is named,
 * and in the end everything is as in the world where all was well.
 */
interface Operation {
  name: string
  /** A part of the commands is carried out: the error of the push says that the job may be stored. */
  inParts?: true
  /** Redis does not say which command of a transaction failed. */
  unnamed?: true
  /** Does what is not done yet. Returns why it is not done, or '' when all is done. */
  run(w: World): Promise<string>
}

const RECORD = { kind: 'record', jid: 'a', about: '[]' } as const
const CLEAR_CANCELLATION = { kind: 'clear-cancellation', jid: 'a', at: NOW, dropped: true } as const

const operations: Operation[] = [
  {
    name: 'settleAndFetch: starts, settles in every way, and fetches',
    async run(w) {
      const answer = await w.store.workers.settleAndFetch(
        'A',
        requestOf({ started: w.started, settlements: w.settlements, ...w.fetches('q') }),
      )
      w.taken.q += answer.fetched.length
      w.settlements = w.settlements.filter((_, i) => answer.settled[i] !== 'ok')
      if (!answer.problem) w.started = []
      const more = await w.store.workers.settleAndFetch('A', requestOf(w.fetches('rows')))
      w.taken.rows += more.fetched.length
      return answer.problem ?? more.problem ?? (w.settlements.length > 0 ? answer.settled.join() : '')
    },
  },
  {
    name: 'settleAndFetch: splits a job of several rows',
    async run(w) {
      const task = spec(6, { queue: 'several', rowsPerJob: 5 })
      await w.store.tasks.create(task)
      await w.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 9), NOW)
      await w.store.tasks.endAdding(task.id, PRODUCER, NOW)
      await w.store.workers.join('D', { queues: ['several'], seconds: 60, host: 'here' })
      if (w.several === 'settled') return ''
      if (!w.several) {
        const { fetched: taken, problem } = await w.store.workers.settleAndFetch(
          'D',
          requestOf({ fetch: { queues: ['several'], n: 1 } }),
        )
        w.several = taken[0]
        if (!w.several) return problem ?? 'nothing came'
      }
      const { settled, problem } = await w.store.workers.settleAndFetch(
        'D',
        requestOf({ settlements: [apart(w.several)] }),
      )
      if (settled[0] === 'ok') w.several = 'settled'
      return problem ?? (settled[0] === 'ok' ? '' : settled.join())
    },
  },
  {
    name: 'settleAndFetch: keeps finished jobs',
    async run(w) {
      const problems: string[] = []
      for (const settlement of w.settlements.filter(({ queue }) => queue === 'q')) {
        const { queue, ticket, move } = settlement
        const to = { to: 'finished', text: move?.text ?? job('finished'), score: 9 } as const
        const { settled, problem } = await w.store.workers.settleAndFetch(
          'A',
          requestOf({ settlements: [{ queue, ticket, move: to, processed: 1, failed: 0 }] }),
        )
        if (settled[0] === 'ok') w.settlements.splice(w.settlements.indexOf(settlement), 1)
        if (problem ?? settled[0] !== 'ok') problems.push(problem ?? settled.join())
      }
      return problems.join('\n')
    },
  },
  {
    name: 'finished jobs: count, prune and read',
    async run(w) {
      const settlement = w.settlements.find(({ queue }) => queue === 'q')
      if (settlement) {
        const { queue, ticket } = settlement
        const move = { to: 'finished', text: job('finished'), score: 9 } as const
        const settlements = [{ queue, ticket, move, processed: 1, failed: 0 } as const]
        const { settled, problem } = await w.store.workers.settleAndFetch('A', requestOf({ settlements }))
        if (settled[0] === 'ok') w.settlements = []
        if (problem || settled[0] !== 'ok') return problem ?? settled.join()
      }
      const size = await w.store.jobSets.size('finished')
      await w.store.jobSets.prune('finished', 1, 0)
      const { length } = await w.store.jobSets.page('finished', { limit: 9 })
      const found = await w.store.jobSets.findFinished(JSON.parse(job('finished')).jid)
      return size === 1 && length === 1 && found ? '' : `size ${size}, ${length} read, ${found ? 'found' : 'not found'}`
    },
  },
  {
    name: 'settleAndFetch: adds a queue to the owner',
    run: async (w) =>
      (await w.store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['more'], n: 1 } }))).problem ?? '',
  },
  {
    name: 'swap: promotes, kills and drops',
    async run(w) {
      const answers = await w.store.jobSets.swap('retry', w.swaps, NOW)
      w.swaps = w.swaps.filter((_, i) => answers[i] !== 'ok')
      return w.swaps.length > 0 ? answers.join() : ''
    },
  },
  {
    name: 'pull: drops jobs, and moves them',
    run: (w) =>
      w.pull('q', [
        { text: job(7), to: toQueue('fresh', job(7)) },
        { text: job(8), to: { to: 'dead', text: job(8), score: 9 } },
      ]),
  },
  {
    name: 'pull: drops a row',
    async run(w) {
      const text = w.row(8)
      const cancelled = change({ text }, { status: 'cancelled', attempt: 0, code: 'deleted' })
      const inQueue = (await w.store.jobs.peek('rows', 0, 9)).find((one) => one.includes(jidOf(TASK.id, 8)))
      return inQueue ? w.pull('rows', [{ text: inQueue, to: null, effects: [cancelled] }]) : ''
    },
  },
  {
    name: 'clearQueue: rows and other jobs',
    async run(w) {
      const { done, kept: met } = await w.store.search.clearQueue('rows', ['"hk_run"'], 100)
      return done && met.length === 1 ? '' : `met ${met.length}`
    },
  },
  {
    name: 'clearQueue',
    run: async (w) => ((await w.store.search.clearQueue('q', ['"hk_run"'], 100)).done ? '' : 'some are left'),
  },
  {
    name: 'clearSet: with a needle',
    run: async (w) => ((await w.store.search.clearSet('retry', ['"hk_run"'])).done ? '' : 'some are left'),
  },
  {
    name: 'clearSet',
    run: async (w) => ((await w.store.search.clearSet('dead', [])).done ? '' : 'some are left'),
  },
  {
    name: 'prune',
    async run(w) {
      await w.store.jobSets.prune('dead', 0, 0)
      return (await w.store.jobSets.size('dead')) === 0 ? '' : 'some are left'
    },
  },
  {
    name: 'scanQueue',
    run: async (w) =>
      (await w.store.search.scanQueue('q', '', { limit: 9 })).items.length === 2 ? '' : 'some are missing',
  },
  {
    name: 'scanQueues',
    run: async (w) => ((await w.store.search.scanQueues(['q'], '')).items.length === 2 ? '' : 'some are missing'),
  },
  {
    name: 'page: after an entry that is gone',
    async run(w) {
      const page = await w.store.jobSets.page('retry', { after: { score: 2, text: 'x' }, limit: 9 })
      return page.length > 0 ? '' : 'some are missing'
    },
  },
  {
    name: 'rescue: jobs of a dead owner',
    async run(w) {
      const items = w.orphaned.map((one) => ({
        ...one,
        to:
          one.text === job(5)
            ? ({ to: 'dead', text: one.text, score: 9 } as const)
            : toQueue(one.queue, one.text, 'front'),
        effects: one.queue === 'rows' ? [change(one, { status: 'enqueued', window: 'keep' })] : [],
      }))
      const answers = await w.store.workers.rescue(items, NOW)
      w.orphaned = w.orphaned.filter((_, i) => answers[i] !== 'ok')
      return w.orphaned.length > 0 ? answers.join() : ''
    },
  },
  {
    name: 'orphaned',
    run: async (w) => ((await w.store.workers.orphaned(100)).length === 3 ? '' : 'some are missing'),
  },
  {
    name: 'push: to a queue',
    inParts: true,
    run: (w) => w.push([toQueue('fresh', job('a')), toQueue('fresh', job('b'), 'front')]),
  },
  { name: 'push: to a set', run: (w) => w.push([{ to: 'schedule', text: job('c'), score: 8 }]) },
  {
    name: 'push: several to a set',
    run: (w) => w.push(['c', 'd'].map((n) => ({ to: 'schedule', text: job(n), score: 8 }) as const)),
  },
  {
    name: 'push: to queues and sets',
    inParts: true,
    run: (w) => w.push([toQueue('fresh', job('a')), toQueue('q', job('b')), { to: 'dead', text: job('c'), score: 8 }]),
  },
  {
    name: 'push: once',
    run: (w) =>
      w.push([
        { ...toQueue('fresh', job('a')), once: 'a' },
        { ...{ to: 'schedule', text: job('c'), score: 8 }, once: 'c' },
      ]),
  },
  {
    name: 'push: unique',
    run: (w) =>
      w.push([
        { ...toQueue('fresh', job('a')), unique: { jid: 'a', claims: [{ key: 'a' }] } },
        { ...{ to: 'schedule', text: job('c'), score: 8 }, once: 'c', unique: { jid: 'c', claims: [{ key: 'c' }] } },
      ]),
  },
  {
    name: 'push: rows',
    run: (w) =>
      w.push([
        {
          ...toQueue('rows', w.row(0)),
          effects: [change({ text: w.row(0) }, { status: 'enqueued', window: 'enter' })],
        },
        {
          ...{ to: 'schedule', text: w.row(3), score: 7 },
          effects: [change({ text: w.row(3) }, { status: 'enqueued', window: 'leave' })],
        },
      ]),
  },
  {
    name: 'create',
    async run(w) {
      const made = await w.store.tasks.create(spec(2, { queue: 'others' }))
      return made ? '' : 'the id is taken'
    },
  },
  {
    name: 'addRows',
    async run(w) {
      const rejected = { status: 'failed', code: 'bad', messages: [{ at: NOW, code: 'no', params: {} }] } as const
      const more = [...rows(12, 2), { args: '[14]', source: '{"a":"14"}', number: 15, rejected }]
      const answer = await w.store.tasks.addRows(TASK.id, 'producer', 12, more as never, NOW)
      return answer.ok && answer.total === 15 ? '' : JSON.stringify(answer)
    },
  },
  {
    name: 'endAdding',
    run: async (w) => ((await w.store.tasks.endAdding(TASK.id, 'producer', NOW)).ok ? '' : 'refused'),
  },
  {
    name: 'openAdding: replaces another producer',
    async run(w) {
      const answer = await w.store.tasks.openAdding(TASK.id, 'other', NOW, 'producer')
      return answer.ok ? '' : JSON.stringify(answer)
    },
  },
  {
    name: 'change',
    async run(w) {
      const tolerance = { percent: 50 }
      return String(
        (await w.store.tasks.change(TASK.id, { paused: true, window: 9, maxFailures: tolerance }, NOW)) === 'ok'
          ? ''
          : 'ended',
      )
    },
  },
  {
    name: 'cancel and cancelRows: to the end',
    async run(w) {
      await w.store.tasks.cancel(TASK.id, { at: NOW, code: 'enough', params: {} }, NOW)
      for (let done = false; !done; ) done = (await w.store.tasks.cancelRows(TASK.id, 3, NOW)).done
      await w.store.tasks.changeEvents([changeOf(4, { status: 'finished', window: 'keep' })], NOW)
      const { state } = (await w.store.tasks.find(TASK.id)) ?? {}
      return state === 'cancelled' ? '' : `it is ${state}`
    },
  },
  {
    name: 'startRun and retryRows',
    async run(w) {
      const started = await w.store.tasks.startRun(TASK.id, 1, 'producer', NOW)
      if (started !== 'ok') return String(started)
      const [dead] = (await w.store.jobSets.page('dead', { limit: 9 })).filter(({ text }) =>
        text.includes(jidOf(TASK.id, 2)),
      )
      const rejected = [
        { index: 2, ...(dead ? { dead } : {}) },
        { index: 3, args: '[33]' },
      ]
      const answers = await w.store.tasks.retryRows(TASK.id, 2, rejected, NOW)
      return answers.join() === 'ok,ok' ? '' : answers.join()
    },
  },
  {
    name: 'delete: a task without jobs',
    async run(w) {
      if (!w.extra) {
        await w.store.tasks.create(spec(3, { queue: 'others' }))
        await w.store.tasks.addRows(spec(3).id, PRODUCER, 0, rows(0, 1), NOW)
        w.extra = true
      }
      return (await w.store.tasks.delete(spec(3).id, 9)) ? '' : 'some is left'
    },
  },
  {
    name: 'changeEvents and leaveWindow',
    async run(w) {
      await w.store.tasks.changeEvents([changeOf(1, { status: 'error', code: 'lost' })], NOW)
      return (await w.store.tasks.leaveWindow(TASK.id, [0, 1], NOW)) ?? ''
    },
  },
  {
    name: 'pushTracked',
    async run(w) {
      const task = spec(5, { queue: 'fresh', single: true })
      const text = JSON.stringify({ class: 'Single', args: [1], jid: jidOf(task.id, 0), hk_run: 1 })
      const problem = await w.store.tasks.pushTracked([{ task, item: toQueue('fresh', text) }], NOW).then(
        () => '',
        (thrown: Error) => thrown.message,
      )
      return problem
    },
  },
  {
    name: 'putPart',
    async run(w) {
      const answers = [
        await w.store.tasks.putPart(TASK.id, 0, new Uint8Array([1, 2]), 10),
        await w.store.tasks.putPart(TASK.id, 0, new Uint8Array([1, 2, 3]), 10),
      ]
      return answers.join() === 'ok,ok' ? '' : answers.join()
    },
  },
  {
    name: 'events and reasons',
    async run(w) {
      const events = await w.store.tasks.events(TASK.id, { limit: 99 })
      const failed = await w.store.tasks.events(TASK.id, { code: 'bad', limit: 99 })
      const reasons = await w.store.tasks.reasons(TASK.id)
      return events.length === 12 && failed.length === 1 && reasons.length === 2 ? '' : 'some are missing'
    },
  },
  {
    name: 'idle',
    unnamed: true,
    async run(w) {
      const { items: tasks } = await w.store.tasks.idle(Number.MAX_SAFE_INTEGER, { limit: 99 })
      return tasks.length > 0 ? '' : 'no task'
    },
  },
  { name: 'remember', run: async (w) => ((await w.store.results.remember('k', 'v', 60)) ?? 'v').replace('v', '') },
  {
    name: 'revokeLinks',
    run: async (w) => ((await w.store.tasks.revokeLinks(TASK.id)) ? '' : 'there is no such task'),
  },
  {
    name: 'raiseLinkVersion',
    async run(w) {
      await w.store.results.raiseLinkVersion('a list', 2)
      return (await w.store.results.linkVersion('a list')) === 2 ? '' : 'not raised'
    },
  },
  {
    name: 'addMessage',
    run: async (w) => (await w.store.tasks.addMessage(jidOf(TASK.id, 4), { at: NOW, code: 'hi', params: {} })) ?? '',
  },
  {
    name: 'join',
    async run(w) {
      const joined = await w.store.workers.join('C', { queues: ['q', 'more'], seconds: 60, host: 'here' })
      return joined ? '' : 'the name is known'
    },
  },
  { name: 'renew', run: async (w) => ((await w.store.workers.renew('A', 60)) ? '' : 'the lease is lost') },
  {
    name: 'claim',
    async run(w) {
      await w.store.workers.claim('A')
      return unclaimed(w, 'A')
    },
  },
  {
    name: 'claim: a producer',
    async run(w) {
      // After a claim a process reads the orphaned jobs, which completes what the claim did not.
      if (!(await w.store.workers.claim('producer'))) await w.store.workers.orphaned(1)
      const { state } = (await w.store.tasks.find(TASK.id)) ?? {}
      return state === 'interrupted' ? unclaimed(w, 'producer') : 'the task is not interrupted'
    },
  },
  {
    name: 'tidy',
    unnamed: true,
    async run(w) {
      await w.redis.sadd('hk:task-queues', 'nothing')
      await w.redis.sadd('queues', 'p3:nothing')
      const owners = await w.store.workers.tidy()
      const names = ['hk:task-queues nothing', 'queues p3:nothing'].map((name) => name.split(' ') as [string, string])
      const left = await Promise.all(names.map(([key, name]) => w.redis.sismember(key, name)))
      return owners.length === 0 && !left.includes(1) ? '' : `answers ${owners}, the names are there: ${left}`
    },
  },
  { name: 'release', run: async (w) => ((await w.store.workers.release('idle')) ? '' : 'not removed') },
  {
    name: 'acquireLock and releaseLock',
    async run(w) {
      if (!(await w.store.workers.acquireLock('duty', 'A', 60))) return 'not held'
      await w.store.workers.releaseLock('duty', 'A')
      return (await w.store.workers.acquireLock('duty', 'B', 60)) ? '' : 'not released'
    },
  },
  {
    name: 'unique: list, find, suspect and release',
    async run(w) {
      const problem = await w.push([{ ...toQueue('fresh', job('u')), unique: { jid: 'u', claims: [{ key: 'u' }] } }])
      if (problem) return problem
      await w.store.unique.suspect([{ key: 'u', holder: 'u' }], 'w1')
      const { locks } = await w.store.unique.list({ limit: 9 }, NOW)
      const [released] = await w.store.unique.release([{ key: 'u', holder: 'nobody' }])
      const [found] = await w.store.unique.find(['u'], NOW)
      if (found?.key !== 'u') return 'not found'
      return locks.map(({ suspicion }) => suspicion).join() === 'w1' && !released ? '' : 'not suspected'
    },
  },
  {
    name: 'transfers: put, hold, held and endPage',
    async run(w) {
      const { transfers } = w.store
      const item = { ...toQueue('fresh', job('t')), unique: { jid: 't', claims: [{ key: 't' }] } }
      await transfers.put({ transfer: 'T', number: 1 }, [item], NOW)
      const from = { queue: 'q', offset: 0, texts: [job(8)] }
      const page = (await transfers.held()) ?? (await transfers.hold('T', 'there', from))
      if (!page) return 'nothing was taken'
      const moves = page.jobs.map((to) => ({ to }))
      return (await transfers.endPage(page, moves, NOW)) ? '' : 'not held'
    },
  },
  {
    name: 'transfers: a task goes to another store, and one comes',
    async run(w) {
      const { tasks, transfers } = w.store
      const task = spec(7, { queue: 'moving', labels: { team: 'a' } })
      const counts = { enqueued: 2, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
      if (w.extra) return ''
      const find = async () => (await transfers.movingTasks()).find(({ id }) => id === task.id)
      if (!(await find())) {
        await tasks.create(task)
        await tasks.change(task.id, { paused: true }, NOW)
        await tasks.addRows(task.id, PRODUCER, 0, rows(0, 2), NOW)
        await tasks.endAdding(task.id, PRODUCER, NOW)
        if ((await transfers.freeze(task.id, NOW)) !== 'ok') return 'not frozen'
        await transfers.unfreeze(task.id, NOW)
        await transfers.freeze(task.id, NOW)
      }
      await transfers.seal(task.id, 'S', 'there', counts)
      await transfers.unseal(task.id, 'S')
      if (!(await find())?.sealed && !(await transfers.seal(task.id, 'S', 'there', counts))) return 'not sealed'
      const id = taskId(8)
      await transfers.voidTask(id, 'V', NOW)
      let outcome: unknown
      for (let cursor: string | null = ''; cursor !== null; ) {
        const part: TaskPart | null = await transfers.readTask(task.id, 'S', cursor)
        if (!part) return 'not sealed'
        const head = part.task && { ...part.task, spec: { ...part.task.spec, id } }
        outcome = await transfers.putTask(id, 'S', cursor, { ...part, task: head }, NOW)
        cursor = part.next
      }
      if (outcome !== 'stored') return 'not stored'
      w.extra = await transfers.dropTask(task.id, 'S')
      return w.extra ? '' : 'not dropped'
    },
  },
  {
    name: 'limits: set, acquire, due, postpone, release orphaned slots and list',
    async run(w) {
      const api = { name: 'api', max: 1, count: 0, per: 0, burst: 1, window: 'smooth' } as const
      await w.store.limits.change('other', { max: 1 })
      const [answer] = await w.store.limits.acquire('A', [{ ticket: '1', limits: [api] }])
      if (answer?.over !== null) return 'no slot'
      await w.store.limits.due(9)
      await w.store.limits.postpone(['api'], 1)
      await w.store.limits.release({ limit: 'api', owner: 'A', ticket: '0' })
      await w.store.limits.releaseOrphanedSlots()
      return (await w.store.limits.list()).map(({ used }) => used).join() === '1,0' ? '' : 'not listed'
    },
  },
  {
    name: 'settleAndFetch: records the events of finished jobs',
    async run(w) {
      const { events, jobs, workers } = w.store
      await events.record(null, NOW)
      const signal = new AbortController().signal
      if ((await events.read(NOW * 1000, { limit: 9, ms: 0, signal }, () => NOW))?.length !== 0) return ''
      await workers.join('R', { queues: ['recorded'], seconds: 60, host: 'here' })
      if (!w.several) {
        await jobs.push([{ ...toQueue('recorded', job('r')), once: 'r' }], NOW)
        const fetch = { queues: ['recorded'], n: 1 }
        const { fetched, problem } = await workers.settleAndFetch('R', requestOf({ fetch }))
        w.several = fetched[0]
        if (!w.several) return problem ?? 'nothing came'
      }
      if (w.several === 'settled') return 'settled without an event'
      const settlement = done(w.several, { effects: [RECORD] })
      const { settled, problem } = await workers.settleAndFetch('R', requestOf({ settlements: [settlement] }))
      if (settled[0] === 'ok') w.several = 'settled'
      return problem ?? (settled[0] === 'ok' ? '' : settled.join())
    },
  },
  {
    name: 'events: record, append, push, confirm and read',
    async run(w) {
      const { events } = w.store
      const from = NOW * 1000
      const read = () => events.read(from, { limit: 9, ms: 0, signal: new AbortController().signal }, () => NOW)
      await events.record(null, NOW)
      if ((await read())?.length === 0) await events.append([RECORD], NOW)
      const effects = [RECORD]
      if ((await read())?.length === 1) await w.store.jobs.push([{ ...toQueue('fresh', job('r')), effects }], NOW)
      await events.confirm(NOW)
      const { length } = (await read()) ?? []
      return length === 2 ? '' : `${length} events`
    },
  },
  {
    name: 'defer, overdue and endDeferred',
    async run(w) {
      const jid = jidOf(TASK.id, 8)
      const { run = 0, attempts = 0, status } = (await w.store.tasks.event(jid)) ?? {}
      if (status === 'finished') return ''
      await w.store.tasks.defer({ jid, run, attempt: attempts + 1, at: NOW, until: NOW }, NOW)
      if (!(await w.store.tasks.overdue(NOW, 1)).includes(jid)) return 'not overdue'
      const { answer } = await w.store.tasks.endDeferred({ jid, status: 'finished' }, NOW)
      return answer === 'ok' ? '' : answer
    },
  },
  {
    name: 'batches: push, apply, cancel and prune',
    async run(w) {
      const { batches } = w.store
      const bid = 'b'.repeat(16)
      const none = { parent: null, onComplete: null, onDeath: null, job: null }
      const onSuccess = { jid: 'x', queue: 'fresh', text: '{"class":"Callback"}' }
      const spec = { bid, meta: '{}', keep: 1, createdAt: NOW, onSuccess, ...none }
      const unique = { jid: 'a', claims: [{ key: 'k' }] }
      const members = [{ bid, id: 'a', item: { ...toQueue('fresh', job('a', { bid })), unique } }]
      try {
        await batches.push({ batches: [spec], members }, NOW)
        await batches.apply([{ kind: 'batch', bid, member: 'a', change: 'succeeded' }], NOW)
        await batches.cancel(bid, NOW)
        await batches.prune(NOW + 1, 9)
      } catch (thrown) {
        return (thrown as Error).message
      }
      return ''
    },
  },
  {
    name: 'record',
    async run(w) {
      const jobs = [
        { name: 'A', processed: 2, failed: 1, ms: 3, histogram: [1] },
        { name: 'B', processed: 1, failed: 0, ms: 0, histogram: [0, 1] },
      ]
      return (await w.store.metrics.record({ source: 'here', number: 1, at: NOW, jobs })) ?? ''
    },
  },
  {
    name: 'recordDeploy',
    run: async (w) => ((await w.store.metrics.recordDeploy({ at: NOW, label: 'v1' }, NOW)) ? '' : 'recorded before'),
  },
  {
    name: 'saveIteration',
    run: async (w) =>
      (await w.store.jobs.saveIteration('j', { executions: 1, runtime: 1, cursor: '1' }, NOW)) ? '' : 'overtaken',
  },
  {
    name: 'request and withdraw',
    async run(w) {
      await w.store.cancellations.request('a', NOW)
      await w.store.cancellations.request('b', NOW)
      return (await w.store.cancellations.withdraw('b', NOW)) === 'requested' ? '' : 'was not requested'
    },
  },
  {
    name: 'settleAndFetch: clears a cancellation with its job',
    async run(w) {
      if (w.settlements.length === 0) return ''
      await w.store.cancellations.request('a', NOW)
      const settlements = w.settlements.slice(0, 1).map((one) => ({ ...one, effects: [CLEAR_CANCELLATION] }))
      const answer = await w.store.workers.settleAndFetch('A', requestOf({ settlements }))
      if (answer.settled[0] === 'ok') w.settlements = []
      return answer.problem ?? answer.settled.filter((one) => one !== 'ok').join()
    },
  },
  {
    name: 'pauseQueue',
    unnamed: true,
    async run(w) {
      await w.store.jobs.pauseQueue('q', true)
      await w.store.jobs.pauseQueue('rows', true)
      await w.store.jobs.pauseQueue('q', false)
      return (await w.store.jobs.pausedQueues()).join() === 'rows' ? '' : 'not paused'
    },
  },
  {
    // The next settleAndFetch names a queue that can't be waited on.
    name: 'waitForJobs: gets a job',
    unnamed: true,
    async run(w) {
      const handed = await w.store.workers.waitForJobs('A', ['q'], 1, 1000, new AbortController().signal)
      return handed.length === 1 ? '' : 'nothing came'
    },
  },
  {
    // A key that can't be counted does not hide the others.
    name: 'totals',
    unnamed: true,
    run: async (w) => ((await w.store.metrics.totals()) ? '' : 'nothing'),
  },
  {
    // A key that can't be read does not hide the jobs of others.
    name: 'fetched jobs',
    unnamed: true,
    run: async (w) => ((await w.store.workers.fetched({ limit: 100 })).next === null ? '' : 'there are more'),
  },
  {
    // A list that can't be read does not hide the others.
    name: 'queues',
    unnamed: true,
    run: async (w) => ((await w.store.jobs.queues()).some(({ size }) => size > 0) ? '' : 'all are empty'),
  },
  {
    name: 'running',
    unnamed: true,
    async run(w) {
      const record = { identity: 'here:1:b', info: '{}', concurrency: 1, busy: 0, beat: NOW, quiet: false, rss: 1 }
      await w.store.workers.heartbeat(record, 60, [{ slot: 'x', queue: 'q', text: job(1), startedAt: NOW }])
      return (await w.store.workers.running()).length > 0 ? '' : 'nothing runs'
    },
  },
  {
    name: 'define: a new cron entry',
    async run(w) {
      await w.store.crons.define('fresh', { old: null, text: 'fresh', tick: NOW }, 60)
      return (await w.store.crons.list()).length === 2 ? '' : 'not defined'
    },
  },
  {
    name: 'tick: with a lock',
    async run(w) {
      const push = { jid: 'c2', item: toQueue('fresh', job('c2')), lock: 'free' }
      const answer = await w.store.crons.tick('nightly', { text: 'nightly', from: 2, to: 3, push }, NOW)
      const [record] = await w.store.crons.list(['nightly'])
      return record?.jid === 'c2' ? '' : String(answer)
    },
  },
  {
    name: 'pause',
    async run(w) {
      await w.store.crons.pause('nightly', true, NOW)
      return (await w.store.crons.pause('nightly', false, NOW)) ? '' : 'not there'
    },
  },
  {
    name: 'remove',
    async run(w) {
      await w.store.crons.remove('nightly')
      return (await w.store.crons.list()).length === 0 ? '' : 'still there'
    },
  },
  { name: 'releaseLock', run: async (w) => (await w.store.crons.releaseLock('mine', 'c1')) ?? '' },
  {
    name: 'signal and showRunning',
    async run(w) {
      const running = { slot: 'x', queue: 'q', text: job(1), startedAt: NOW }
      await w.store.workers.showRunning('here:1:a', 60, [running], ['y'])
      return (await w.store.workers.signal('here:1:a', 'TSTP')) ? '' : 'no such process'
    },
  },
  {
    name: 'heartbeat',
    async run(w) {
      const record = { identity: 'here:1:a', info: '{}', concurrency: 1, busy: 0, beat: NOW, quiet: false, rss: 1 }
      const { signal } = await w.store.workers.heartbeat(record, 60, [
        { slot: 'x', queue: 'q', text: job(1), startedAt: NOW },
      ])
      return signal === 'TERM' ? '' : `the signal is ${signal}`
    },
  },
]

/** An effect on a row of the task that comes from outside. */
function changeOf(index: number, more: Partial<EventEffect>): EventEffect {
  const text = JSON.stringify({ jid: jidOf(TASK.id, index), hk_run: 1 })
  return change({ text }, { attempt: 1, ...more })
}

async function unclaimed({ redis }: World, owner: string): Promise<string> {
  const stamp = await redis.zscore('hk:leases', owner).catch(() => null)
  return Number(stamp ?? 0) < 0 ? '' : 'not claimed'
}

/** Runs an operation in a world where all is well. */
interface Course {
  keys: string[]
  scripts: Set<string>
  begin: Contents
  end: Contents
}

onRedis('a key of the wrong type', () => {
  let server: RedisServer
  let worlds = 0
  const scriptsSeen = new Set<string>()
  beforeAll(async () => {
    server = await startServer({ databases: 2000 })
  })
  afterAll(() => server.remove())
  const world = () => World.make(server.url(++worlds))

  describe.each(operations)('$name', (operation) => {
    test('loses and repeats no job, is named in the error, and once it is mended all is done', {
      timeout: 180_000,
    }, async () => {
      const well = await course(operation)
      for (const script of well.scripts) scriptsSeen.add(script)
      const breaks = well.keys.flatMap((key) => {
        const isNumber = /(^|:)stat:|:backlog$|^hk:(events|finished):newest$/.test(key)
        return [
          { key, value: STREAMS.includes(key) ? ('no stream' as const) : ('a stream' as const) },
          ...(isNumber ? [{ key, value: 'no number' as const }] : []),
        ]
      })
      const complaints = await Promise.all(breaks.map(({ key, value }) => complaintsOf(operation, key, value, well)))
      expect(complaints.flat()).toEqual([])
    })
  })

  test('every key of every script is tried', () => {
    // ordered.test.ts covers ordered queues, and migration.test.ts the migration.
    const ours = Object.keys(lua).filter((name) => !/^(ordered|migrate)/.test(name))
    expect([...scriptsSeen].sort()).toEqual(ours.sort())
  })

  async function course({ run }: Operation): Promise<Course> {
    const w = await world()
    const begin = await w.contents()
    const heard = await commandsDuring(w.redis, async () => expect(await run(w)).toBe(''))
    const end = await w.contents()
    expect(faultsOf(end)).toEqual([])
    await w.close()
    const scripts = heard.flatMap((words) => scriptOf(words) ?? [])
    return { keys: [...new Set(heard.flatMap(writtenKeys))], scripts: new Set(scripts), begin, end }
  }

  async function complaintsOf(
    { run, inParts, unnamed }: Operation,
    key: string,
    value: 'a stream' | 'no number' | 'no stream',
    { begin, end }: Course,
  ): Promise<string[]> {
    const complaints: string[] = []
    const complain = (what: string) => complaints.push(`${key} is ${value}: ${what}`)
    const w = await world()
    await w.break(key, value)
    const told = await run(w).catch((thrown: Error) => thrown.message)
    const between = await w.contents()
    if (told && !unnamed && !told.includes(key) && !/\berror\b/.test(told))
      complain(`the key is not named in “${told}”`)
    for (const fault of faultsOf(between)) complain(`then ${fault}`)
    // Only what is gone when all is well may be gone.
    for (const jid of locationsOf(begin).keys()) {
      if (!locationsOf(between).has(jid) && locationsOf(end).has(jid)) complain(`${Buffer.from(jid, 'hex')} is lost`)
    }
    await w.mend()
    for (let tries = 1, left = told; left !== '' && tries <= 3; tries++) {
      left = await run(w).catch((thrown: Error) => thrown.message)
      if (left && tries === 3) complain(`it can't be overcome: “${left}”`)
    }
    const after = await w.contents()
    for (const fault of faultsOf(after)) complain(`at last ${fault}`)
    for (const one of new Set([...Object.keys(end), ...Object.keys(after)])) {
      // The problem names a key that could not be written: a count, or the name of a queue that has its job all the
      // same.
      if (one === key && told && (/^stat:/.test(key) || (inParts && key === 'queues'))) continue
      const [is, should] = [JSON.stringify(after[one]), JSON.stringify(end[one])]
      if (is !== should) complain(`${one} is ${differing(is, should)}, and should be ${differing(should, is)}`)
    }
    await w.close()
    return complaints
  }
})

const WRITES = /^([lrs]push|[hs]del|[lr]pop|sadd|srem|zadd|zrem\w*|hset(nx)?|set|del|unlink|p?expire|incrby)$/

function writtenKeys([word = '', ...rest]: string[]): string[] {
  const name = word.toLowerCase()
  if (name === 'eval' || name === 'evalsha') return rest.slice(2, 2 + Number(rest[1]))
  if (name === 'blmove') return rest.slice(0, 2)
  return WRITES.test(name) ? rest.slice(0, 1) : []
}

/** Returns the rest of a text from the first difference on. */
function differing(text = 'nothing', other = 'nothing'): string {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  return `…${text.slice(Math.max(at - 30, 0), at + 70)}…`
}
