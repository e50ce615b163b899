import { iterate } from 'highkiq'
import { expect, test } from 'vitest'
import { bench } from './bench.ts'

/** The methods that take an object of options, each with values that are wrong. */
type Call = (options: never) => unknown
type Case = [name: string, call: Call, wrong: Record<string, unknown>]

/** Calls a method and, if it returns a generator, begins it. */
async function begin(call: Call, options: unknown): Promise<unknown> {
  const answer = (await call(options as never)) as AsyncGenerator | undefined
  return typeof answer?.next === 'function' ? answer.next() : answer
}

test('acting on all jobs of a set refuses an empty text to match, which would mean all', async () => {
  const { hq } = bench()
  for (const matching of ['', undefined]) {
    await expect(hq.dead.deleteAll({ matching } as object)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'matching must be a string that is not empty; leave it out to mean all',
    })
  }
})

test('each method with options refuses an unknown one and a wrong value, by name and with what is right', async () => {
  const t = bench()
  const { hq } = t
  const J = hq.job('J', async () => {})
  await hq.push({ class: 'J', args: [], at: Date.now() / 1000 + 3600 })
  const entry = (await hq.scheduled.page()).items[0]
  const queue = hq.queue('default')
  const ordered = hq.ordered('o', async () => {})
  const task = await hq.tasks.create(J, [[]])
  const signal = { signal: 5 }
  const page = { after: 5, limit: 0 }
  const sweep = { matching: 5, where: 5, ...signal, onProgress: 5 }
  const cases: Case[] = [
    ['hq.result', (options) => hq.result('jid', options), { timeout: -1, ...signal }],
    ['hq.events', (options) => hq.events(options), { jobs: 5, ...signal }],
    ['hq.cancel', (options) => hq.cancel('jid', options), { queue: 5, budget: -1 }],
    ['hq.find', (options) => hq.find('jid', options), signal],
    ['hq.worker', (options) => hq.worker(options), { concurrency: -1 }],
    ['hq.batches.page', (options) => hq.batches.page(options), { state: 'ended', search: 5, cursor: 5, limit: 0 }],
    ['hq.uniqueLocks.page', (options) => hq.uniqueLocks.page(options), { cursor: 'x', limit: 0 }],
    ['hq.batches.memberPage', (options) => hq.batches.memberPage('b', options), { limit: 0 }],
    ['worker.run', (options) => hq.worker().run(options), { onStart: 5, onStop: 5, onSecondSignal: 5 }],
    ['worker.set', (options) => hq.worker().set(options), { concurrency: 0 }],
    ['queue.find', (options) => queue.find('jid', options), signal],
    ['queue.findNear', (options) => queue.findNear('', () => true, options), signal],
    ['queue.page', (options) => queue.page(options), page],
    ['queue.scan', (options) => queue.scan('x', options), page],
    ['queue.search', (options) => queue.search({ needle: '', matches: () => true }, options), page],
    ['set.find', (options) => hq.retries.find('jid', options), signal],
    ['set.page', (options) => hq.retries.page(options), { ...page, desc: 5 }],
    ['set.scan', (options) => hq.retries.scan('x', options), page],
    ['set.search', (options) => hq.retries.search({ needle: '', matches: () => true }, options), { ...page, desc: 5 }],
    ['set.retryAll', (options) => hq.retries.retryAll(options), sweep],
    ['set.addAllToQueue', (options) => hq.retries.addAllToQueue(options), sweep],
    ['set.killAll', (options) => hq.retries.killAll(options), { ...sweep, notify: 5 }],
    ['set.deleteAll', (options) => hq.retries.deleteAll(options), sweep],
    ['entry.kill', (options) => entry?.kill(options), { notify: 5 }],
    ['waiting.list', (options) => ordered.waiting.list(options), { by: 5, desc: 5, after: 5, limit: 0, payloads: -1 }],
    ['morgue.list', (options) => ordered.morgue.list(options), { by: 5, desc: 5, after: 5, limit: 0 }],
    ['metrics.top', (options) => hq.metrics.top(options), { minutes: 0 }],
    ['metrics.job', (options) => hq.metrics.job('J', options), { minutes: 0 }],
    ['metrics.queue', (options) => hq.metrics.queue('mail', options), { minutes: 0 }],
    ['metrics.percentiles', (options) => hq.metrics.percentiles(['J'], options), { minutes: 0 }],
    ['metrics.deploys', (options) => hq.metrics.deploys(options), { days: 0 }],
    ['tasks.list', (options) => hq.tasks.list(options), { state: 5, job: 5, meta: 5, limit: 0 }],
    ['tasks.create', (options) => hq.tasks.create(J, [[]], options), { name: 5 }],
    ['task.events', (options) => task.events(options), { status: 5, after: 'x' }],
    ['task.wait', (options) => task.wait(options), { ...signal, onProgress: 5, every: 0 }],
    ['task.set', (options) => task.set(options), { priority: 5 }],
    ['task.retry', (options) => task.retry(options), { status: 5 }],
    ['task.report', (options) => task.report('x.csv', options), { format: 5 }],
    ['task.download', (options) => task.download(options), { wait: 5, partial: 5, show: 5, ...signal }],
    ['task.link', (options) => task.link(options), { rights: 5 }],
    ['J.performBulk', (options) => J.performBulk([], options), { batchSize: 0, spreadInterval: 0 }],
    [
      'iterate.csv',
      (options) => iterate.csv('x.csv', null, options),
      { header: 5, delimiter: 5, quote: 5, encoding: 5 },
    ],
  ]
  for (const [name, call, values] of cases) {
    for (const [option, value] of [['unknownOption', 1], ...Object.entries(values)] as const) {
      const thrown = await begin(call, { [option]: value }).then(
        () => undefined,
        (error) => error,
      )
      expect(thrown, `${name}: ${option}`).toMatchObject({
        code: expect.stringMatching(/^INVALID_/),
        message: expect.stringContaining(option),
      })
    }
  }
  expect(await hq.scheduled.size()).toBe(1)
})
