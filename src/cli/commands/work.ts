/** `highkiq work`: a worker. */

import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { type Highkiq, VERSION, type Worker, type WorkerOptions } from '../../index.ts'
import { banner } from '../banner.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { CliError, positiveSeconds, secondsOrInfinity, wholeNumber } from '../usage.ts'

interface WorkOptions extends AppOptions {
  concurrency?: number
  queue?: string[]
  timeout?: number
  tag?: string
  leaseSeconds?: number
  banner: boolean
}

const EXAMPLES = `
Queues without weights are served strictly in their order; with one weight anywhere, by chance in proportion.

Signals: TERM and INT let the jobs end that run (at most --timeout) and stop, the second time at once; TSTP takes no
more jobs; TTIN logs what runs.

Examples:
  highkiq work -r jobs.ts
  highkiq work -r jobs.ts -c 25 -q critical,3 -q default
  HIGHKIQ_QUEUES="critical,3 default" HIGHKIQ_CONCURRENCY=25 highkiq work -r jobs.ts
`

export function register(program: Command): void {
  withAppOptions(program.command('work').description('run jobs until TERM or INT'))
    .addOption(
      new Option('-c, --concurrency <n>', 'jobs at the same time (default: 10)')
        .env('HIGHKIQ_CONCURRENCY')
        .argParser(wholeNumber),
    )
    .addOption(
      new Option('-q, --queue <name[,weight]>', 'queue to serve; may be repeated (default: default)')
        .env('HIGHKIQ_QUEUES')
        .argParser(addQueues),
    )
    .addOption(
      new Option('-t, --timeout <seconds>', 'how long jobs may go on after TERM (default: 25)')
        .env('HIGHKIQ_TIMEOUT')
        .argParser(secondsOrInfinity),
    )
    .addOption(
      new Option('-g, --tag <tag>', "shown beside the process (default: this folder's name)").env('HIGHKIQ_TAG'),
    )
    .addOption(
      new Option('--lease-seconds <n>', 'after which the jobs of a process that is cut off go to others (default: 15)')
        .env('HIGHKIQ_LEASE_SECONDS')
        .argParser(positiveSeconds),
    )
    .option('--no-banner', 'no art on a terminal')
    .addHelpText('after', EXAMPLES)
    .action(work)
}

async function work(options: WorkOptions): Promise<void> {
  if (!options.require)
    throw new CliError('work needs -r FILE, the file that exports the app: highkiq work -r jobs.ts', 2)
  const tag = options.tag ?? basename(process.cwd())
  await withApp(options, async (hq) => {
    const worker = hq.worker(workerOptions(options, tag))
    // A store that can't be opened is told by one line, and not by each part of a worker that has begun.
    await hq.store.open()
    hq.on('startup', () => hello(hq, worker, options.banner))
    const release = keepTitle(hq, worker, tag)
    try {
      await worker.run()
    } finally {
      release()
    }
  })
}

function workerOptions({ concurrency, queue, timeout, leaseSeconds }: WorkOptions, tag: string): WorkerOptions {
  return {
    tag,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(queue === undefined ? {} : { queues: queue }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(leaseSeconds === undefined ? {} : { leaseSeconds }),
  }
}

/** `critical,3`; the variable may name several, with spaces or semicolons between them. */
function addQueues(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(/[\s;]+/).filter(Boolean)]
}

function hello(hq: Highkiq, worker: Worker, wanted: boolean): void {
  const { queues, concurrency } = worker
  const facts = { version: VERSION, store: hq.store.url, queues, concurrency }
  if (wanted && process.stderr.isTTY) process.stderr.write(banner(facts, process.stderr))
  else hq.log.info({ ...facts, identity: worker.identity }, `highkiq ${VERSION} is working`)
}

/** What `ps` shows: `highkiq 1.2.3 shop [3 of 10 busy] stopping`. */
function keepTitle(hq: Highkiq, worker: Worker, tag: string): () => void {
  let stopping = ''
  const set = () => {
    const { busy, concurrency } = worker
    const name = tag ? ` ${tag}` : ''
    process.title = `highkiq ${VERSION}${name} [${busy} of ${concurrency} busy]${stopping}`
  }
  hq.on('quiet', () => {
    stopping = ' stopping'
    set()
  })
  set()
  const timer = setInterval(set, 1000)
  return () => clearInterval(timer)
}
