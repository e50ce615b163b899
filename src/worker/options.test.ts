import { expect, test } from 'vitest'
import { capsuleSettings, type WorkerOptions, workerSettings } from './options.ts'

test('a missing option has its default, and valid values are accepted', () => {
  expect(workerSettings({})).toMatchObject({ concurrency: 10, timeout: 25, leaseSeconds: 15, scheduler: 'lag' })
  const all: WorkerOptions = {
    timeout: Number.POSITIVE_INFINITY,
    maxBlockSeconds: Number.POSITIVE_INFINITY,
    pollInterval: 0.1,
    splitter: { nodes: 2, node: 1 },
    scheduler: () => undefined,
    tag: '',
    labels: ['a'],
    capsules: { mail: { queues: ['mail'], concurrency: 1 } },
  }
  expect(workerSettings(all)).toMatchObject(all)
})

test.each([
  [{ timeout: 0 }, 'worker: timeout must be a number of seconds above 0 (got 0)'],
  [{ timeout: '25' }, 'worker: timeout must be a number of seconds above 0 (got "25")'],
  [{ concurrency: 0 }, 'worker: concurrency must be a whole number above 0 (got 0)'],
  [{ concurrency: 1.5 }, 'worker: concurrency must be a whole number above 0 (got 1.5)'],
  [{ queues: 'mail' }, 'worker: queues must be an array of names (got "mail")'],
  [{ fetchOrder: 'random' }, 'worker: fetchOrder must be a function (got "random")'],
  [{ leaseSeconds: Number.POSITIVE_INFINITY }, 'worker: leaseSeconds must be a number above 0 (got Infinity)'],
  [{ maxBlockSeconds: Number.NaN }, 'worker: maxBlockSeconds must be a number of seconds above 0 (got NaN)'],
  [{ pollInterval: 2 }, 'worker: pollInterval must be a number of seconds, at most 1 (got 2)'],
  [{ promote: 'x' }, 'worker: promote must be a function (got "x")'],
  [{ orderedConcurrency: 0 }, 'worker: orderedConcurrency must be a whole number above 0 (got 0)'],
  [{ splitter: { nodes: 2, node: 2 } }, 'worker: splitter must be { nodes, node } with node from 0 to nodes - 1'],
  [{ scheduler: 'fifo' }, "worker: scheduler must be 'lag', 'seq' or a function"],
  [{ tag: 5 }, 'worker: tag must be a string (got 5)'],
  [{ labels: 'x' }, 'worker: labels must be an array of strings (got "x")'],
  [{ logJobs: 'yes' }, 'worker: logJobs must be true or false (got "yes")'],
  [{ capsules: [] }, 'worker: capsules must be { name: { concurrency, queues } } (got a list)'],
  [{ capsules: { default: {} } }, "worker: capsules must not name 'default'"],
  [{ concurency: 5 }, 'worker: there is no option concurency; did you mean concurrency?'],
  [
    { connection: {} },
    'worker: there is no option connection; did you mean url, an option of new Highkiq()? There are',
  ],
  [{ lockDuration: 30_000 }, 'worker: there is no option lockDuration; did you mean leaseSeconds? There are'],
  [{ limiter: { max: 5 } }, 'did you mean limit, an option of a job, of a queue or of new Highkiq()? There are'],
  [{ telemetry: {} }, 'did you mean instrument(hq) of highkiq/otel? There are'],
  [{ removeOnComplete: true }, 'did you mean keepFinished, an option of the job? There are'],
  [5, 'worker: options must be an object (got 5)'],
])('%o is refused with name, value and what is right', (options, words) => {
  expect(() => workerSettings(options as WorkerOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})

test('a capsule is checked like a worker', () => {
  expect(() => capsuleSettings('mail', { concurrency: 0 })).toThrow(
    'capsule mail: concurrency must be a whole number above 0',
  )
})
