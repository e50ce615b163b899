import { expect, test } from 'vitest'
import { checkAppOptions, type HighkiqOptions } from './options.ts'

test.each<HighkiqOptions>([
  {},
  { logger: console, strictArgs: false, wire: 7, maxRetries: 0, dead: { max: 0 }, maxArgsBytes: { refuse: 1000 } },
  { wire: { sidekiq: 7, json: '2.16' }, dead: { seconds: 60 }, maxArgsBytes: {} },
  { clock: { now: () => 5 }, random: () => 0.5, files: [new URL('file:///jobs.ts'), 'file:///more.ts'] },
  { maxIterationRuntime: Number.POSITIVE_INFINITY, loggedJobAttributes: [], namespace: '' },
])('%o is fine', (options) => {
  expect(() => checkAppOptions(options)).not.toThrow()
})

test.each([
  [{ url: 5 }, 'url is a text, not 5'],
  [{ logger: 5 }, 'logger is an object with debug, info, warn and error, as pino or console, not 5'],
  [
    { logger: { info() {}, error() {} } },
    'new Highkiq: logger has no debug, warn: it is an object with debug, info, warn and error, as pino or console',
  ],
  [{ concurrency: 5 }, 'there is no option concurrency; did you mean concurrency, an option of hq.worker()? There are'],
  [{ concurency: 5 }, 'there is no option concurency; did you mean concurrency, an option of hq.worker()? There are'],
  [{ loggedJobAttributes: 'bid' }, 'loggedJobAttributes is an array of strings, not "bid"'],
  [{ clock: () => 5 }, 'clock is { now: () => milliseconds }, not a function'],
  [{ clock: {} }, 'clock is { now: () => milliseconds }, not an object'],
  [{ random: 0.5 }, 'random is a function, not 0.5'],
  [{ maxArgsBytes: 1000 }, 'maxArgsBytes is { warn: bytes, refuse: bytes }, not 1000'],
  [{ maxArgsBytes: { refuse: '1000' } }, 'maxArgsBytes: refuse is a number above 0, not "1000"'],
  [{ maxArgsBytes: { max: 5 } }, 'maxArgsBytes: there is no option max; there are warn, refuse'],
  [{ strictArgs: 'error' }, "strictArgs is 'raise', 'warn' or false, not \"error\""],
  [{ strictArgs: true }, "strictArgs is 'raise', 'warn' or false, not true"],
  [{ wire: 9 }, 'wire is 8 (the default), 7 or 6,'],
  [{ wire: { json: '2.16' } }, 'wire is 8'],
  [{ wire: { sidekiq: 7, json: 2.16 } }, 'wire is 8'],
  [{ wire: { sidekiq: 7, json: 'new' } }, 'wire is 8'],
  [{ wire: { sidekiq: 7, yaml: 1 } }, 'wire is 8'],
  [{ maxRetries: '5' }, 'maxRetries is a whole number, 0 or more, not "5"'],
  [{ maxRetries: -1 }, 'maxRetries is a whole number, 0 or more, not -1'],
  [{ dead: 5 }, 'dead is { max: jobs, seconds: number }, not 5'],
  [{ dead: { max: -1 } }, 'dead: max is a whole number, 0 or more, not -1'],
  [{ dead: { maximum: 1 } }, 'dead: there is no option maximum'],
  [{ maxIterationRuntime: 0 }, 'maxIterationRuntime is a number of seconds above 0, not 0'],
  [{ files: 'jobs.ts' }, 'files is an array of files (import.meta.url), not "jobs.ts"'],
  [{ backtraceCleaner: 'x' }, 'backtraceCleaner is a function, not "x"'],
  [{ defaultJobOptions: { retry: '5' } }, 'defaultJobOptions: retry is true, false'],
  [{ defaultJobOptions: 5 }, 'defaultJobOptions is an object, not 5'],
  [5, 'options are an object, not 5'],
])('%o is refused with name, value and what is right', (options, words) => {
  expect(() => checkAppOptions(options as HighkiqOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})
