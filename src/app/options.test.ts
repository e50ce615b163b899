import { expect, test } from 'vitest'
import { checkAppOptions, type HighkiqOptions } from './options.ts'

test.each<HighkiqOptions>([
  {},
  { logger: console, strictArgs: false, wire: 7, maxRetries: 0, dead: { max: 0 }, maxArgsBytes: { refuse: 1000 } },
  { wire: { sidekiq: 7, json: '2.16' }, dead: { seconds: 60 }, maxArgsBytes: {} },
  { clock: { now: () => 5 }, random: () => 0.5, files: [new URL('file:///jobs.ts'), 'file:///more.ts'] },
  { shards: ['redis://a', 'redis://b'] },
  { maxIterationRuntime: Number.POSITIVE_INFINITY, loggedJobAttributes: [], namespace: '' },
])('%o is fine', (options) => {
  expect(() => checkAppOptions(options)).not.toThrow()
})

test.each([
  [{ url: 5 }, 'url must be a string that is not empty (got 5)'],
  [
    { shards: 'redis://a redis://b' },
    "new Highkiq: shards must be an array of two or more different store URLs, such as ['redis://a:6379', 'redis://b:6379'] (got \"redis://a redis://b\")",
  ],
  [{ shards: ['redis://a'] }, 'shards must be an array of two or more different store URLs,'],
  [{ shards: ['redis://a', 'redis://a'] }, 'shards must be an array of two or more different store URLs,'],
  [{ shards: ['redis://a', 5] }, 'shards must be an array of two or more different store URLs,'],
  [
    { shards: ['redis://a', 'redis://b'], url: 'redis://c' },
    'new Highkiq: shards and url exclude each other: leave one of them out',
  ],
  [
    { shards: ['redis://a', 'redis://b'], store: {} },
    'new Highkiq: shards and store exclude each other: leave one of them out',
  ],
  [{ logger: 5 }, 'logger must be an object with debug, info, warn and error, as pino or console (got 5)'],
  [
    { logger: { info() {}, error() {} } },
    'new Highkiq: logger must be an object with debug, info, warn and error, as pino or console (it has no debug, warn)',
  ],
  [{ concurrency: 5 }, 'there is no option concurrency; did you mean concurrency, an option of hq.worker()? There are'],
  [{ concurency: 5 }, 'there is no option concurency; did you mean concurrency, an option of hq.worker()? There are'],
  [{ connection: {} }, "there is no option connection; did you mean url: 'redis://…', and redis for more options of"],
  [{ prefix: 'shop' }, 'there is no option prefix; did you mean namespace? There are'],
  [{ limiter: { max: 5 } }, 'there is no option limiter; did you mean limit? There are'],
  [{ removeOnComplete: true }, 'did you mean defaultJobOptions: { keepFinished }? There are'],
  [{ limit: { max: 5, duration: 1000 } }, 'there is no option max; did you mean rate, as in'],
  [{ limit: { rate: 5, duration: 1000 } }, 'there is no option duration; did you mean per, as in'],
  [{ loggedJobAttributes: 'bid' }, 'loggedJobAttributes must be an array of strings (got "bid")'],
  [{ clock: () => 5 }, 'clock must be { now: () => milliseconds } (got a function)'],
  [{ clock: {} }, 'clock must be { now: () => milliseconds } (got an object)'],
  [{ random: 0.5 }, 'random must be a function (got 0.5)'],
  [{ maxArgsBytes: 1000 }, 'maxArgsBytes must be { warn: bytes, refuse: bytes } (got 1000)'],
  [{ maxArgsBytes: { refuse: '1000' } }, 'maxArgsBytes: refuse must be a number above 0 (got "1000")'],
  [{ maxArgsBytes: { max: 5 } }, 'maxArgsBytes: there is no option max; there are warn, refuse'],
  [{ strictArgs: 'error' }, "strictArgs must be 'raise', 'warn' or false (got \"error\")"],
  [{ strictArgs: true }, "strictArgs must be 'raise', 'warn' or false (got true)"],
  [{ wire: 9 }, 'wire must be 8 (the default), 7 or 6,'],
  [{ wire: { json: '2.16' } }, 'wire must be 8'],
  [{ wire: { sidekiq: 7, json: 2.16 } }, 'wire must be 8'],
  [{ wire: { sidekiq: 7, json: 'new' } }, 'wire must be 8'],
  [{ wire: { sidekiq: 7, yaml: 1 } }, 'wire must be 8'],
  [{ maxRetries: '5' }, 'maxRetries must be a whole number, 0 or more (got "5")'],
  [{ maxRetries: -1 }, 'maxRetries must be a whole number, 0 or more (got -1)'],
  [{ dead: 5 }, 'dead must be { max: jobs, seconds: number } (got 5)'],
  [{ dead: { max: -1 } }, 'dead: max must be a whole number, 0 or more (got -1)'],
  [{ dead: { maximum: 1 } }, 'dead: there is no option maximum'],
  [{ maxIterationRuntime: 0 }, 'maxIterationRuntime must be a number of seconds above 0 (got 0)'],
  [{ files: 'jobs.ts' }, 'files must be an array of files (import.meta.url) (got "jobs.ts")'],
  [{ backtraceCleaner: 'x' }, 'backtraceCleaner must be a function (got "x")'],
  [{ defaultJobOptions: { retry: '5' } }, 'defaultJobOptions: retry must be true, false'],
  [{ defaultJobOptions: 5 }, 'defaultJobOptions must be an object (got 5)'],
  [5, 'options must be an object (got 5)'],
])('%o is refused with name, value and what is right', (options, words) => {
  expect(() => checkAppOptions(options as HighkiqOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})
