import { expect, test } from 'vitest'
import { capsuleSettings, type WorkerOptions, workerSettings } from './options.ts'

test('a missing option has its default, and right values are accepted', () => {
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
  [{ timeout: 0 }, 'worker: timeout is a number of seconds above 0, not 0'],
  [{ timeout: '25' }, 'worker: timeout is a number of seconds above 0, not "25"'],
  [{ concurrency: 0 }, 'worker: concurrency is a whole number above 0, not 0'],
  [{ concurrency: 1.5 }, 'worker: concurrency is a whole number above 0, not 1.5'],
  [{ queues: 'mail' }, 'worker: queues is an array of names, not "mail"'],
  [{ fetchOrder: 'random' }, 'worker: fetchOrder is a function, not "random"'],
  [{ leaseSeconds: Number.POSITIVE_INFINITY }, 'worker: leaseSeconds is a number above 0, not Infinity'],
  [{ maxBlockSeconds: Number.NaN }, 'worker: maxBlockSeconds is a number of seconds above 0, not NaN'],
  [{ pollInterval: 2 }, 'worker: pollInterval is a number of seconds, at most 1, not 2'],
  [{ promote: 'x' }, 'worker: promote is a function, not "x"'],
  [{ orderedConcurrency: 0 }, 'worker: orderedConcurrency is a whole number above 0, not 0'],
  [{ splitter: { nodes: 2, node: 2 } }, 'worker: splitter is { nodes, node } with node from 0 to nodes - 1'],
  [{ scheduler: 'fifo' }, "worker: scheduler is 'lag', 'seq' or a function"],
  [{ tag: 5 }, 'worker: tag is a text, not 5'],
  [{ labels: 'x' }, 'worker: labels is an array of strings, not "x"'],
  [{ logJobs: 'yes' }, 'worker: logJobs is true or false, not "yes"'],
  [{ capsules: [] }, 'worker: capsules is { name: { concurrency, queues } }, not a list'],
  [{ capsules: { default: {} } }, "the worker's own queues and concurrency are the capsule default"],
  [{ concurency: 5 }, 'worker: there is no option concurency; did you mean concurrency?'],
  [5, 'worker: options are an object, not 5'],
])('%o is refused with name, value and what is right', (options, words) => {
  expect(() => workerSettings(options as WorkerOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})

test('a capsule is checked as the worker is', () => {
  expect(() => capsuleSettings('mail', { concurrency: 0 })).toThrow(
    'capsule mail: concurrency is a whole number above 0',
  )
})
