/** `highkiq work` runs one worker process, or several. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { PROGRAM } from '../../app.ts'
import { appFolder } from '../../environment.ts'
import { type Highkiq, VERSION, type Worker, type WorkerOptions } from '../../index.ts'
import { defaultLogger } from '../../log.ts'
import { banner, keepTitle } from '../banner.ts'
import { Child } from '../child.ts'
import { jobsFiles } from '../config/jobs-file.ts'
import { type Resolved, resolveSettings, withSettings } from '../config/resolve.ts'
import type { Settings } from '../config/settings.ts'
import { everyQueue, stopWhenEmpty } from '../drain.ts'
import { io, setExitCode } from '../io.ts'
import { checkLogVariables, withApp } from '../open-app.ts'
import { plural } from '../output.ts'
import { adviceFor, served, shownQueue } from '../processes.ts'
import { checkHost, serveWeb, WEB_HOST, WEB_PORT } from '../serve-web.ts'
import { runSwarm } from '../swarm.ts'
import { systemdOf } from '../systemd.ts'
import { CliError } from '../usage.ts'

const EXAMPLES = `
Without -q a worker on SQLite serves default and every queue that the app's jobs name, in random order.
On PostgreSQL and Redis it serves default; -q '*' serves every queue that the app's jobs name.
Queues without weights are served strictly in their order. With at least one weight, the order is random and weighted.
Precedence, highest first: flags, HIGHKIQ_… variables (HIGHKIQ_CONCURRENCY, …), the configuration file.
A sidekiq.yml is read as a configuration file; of its ERB only look-ups of environment variables work.

Signals: TERM and INT stop gracefully: running jobs get --timeout seconds; a second signal stops at once.
TSTP stops fetching. TTIN logs the running jobs. USR2 reopens the log file.

Examples:
  highkiq work -r jobs.ts
  highkiq work -r jobs.ts -c 25 -q critical,3 -q default
  highkiq work -r jobs.ts --processes 4 --max-memory 512
  highkiq work -r jobs.ts --web
  highkiq work -r jobs.ts -C config/sidekiq.yml -e production
  HIGHKIQ_QUEUES="critical,3 default" HIGHKIQ_CONCURRENCY=25 highkiq work -r jobs.ts
`

const MOST_SHOWN = 10
/** Milliseconds until the next attempt to serve the dashboard. */
const WEB_AGAIN_MS = 1000

export function register(program: Command): void {
  const command = program.command('work').description('run jobs until SIGTERM or SIGINT')
  withSettings(command)
    .version(VERSION, '-V, --version')
    .addHelpText('after', EXAMPLES)
    .action(async () => {
      const starting = new Starting()
      try {
        await work(await resolveSettings(command), starting)
      } finally {
        starting.end()
      }
    })
}

/** Ends the process at SIGTERM and SIGINT until the worker handles them. Linux ignores them for PID 1 without a handler. */
class Starting {
  readonly #exit = () => process.exit(0)

  constructor() {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, this.#exit)
  }

  end(): void {
    for (const signal of ['SIGTERM', 'SIGINT']) process.off(signal, this.#exit)
  }
}

async function work(resolved: Resolved, starting: Starting): Promise<void> {
  const { settings, environment } = resolved
  io().env.NODE_ENV ||= environment
  setLogVariables(settings)
  const files = jobsFiles('work', settings.require)
  if (settings.web !== undefined) await checkHost(settings.webHost ?? WEB_HOST)
  const child = Child.fromEnvironment()
  // The parent sees that a signal ended it.
  if (child) starting.end()
  const { url, drain, processes = 1, maxMemory, tag = appFolder() } = settings
  if (drain && (url === undefined || processes > 1)) {
    throw new CliError('--drain needs --url (the store to empty) and a single process', 2)
  }
  // A drain ends its process, and no parent may start it again.
  if (!child && !drain && (processes > 1 || maxMemory !== undefined)) {
    const log = defaultLogger()
    const systemd = systemdOf(() => log)
    const ended = runSwarm({ processes, maxMemory, tag, log, systemd })
    starting.end()
    setExitCode(await ended)
    await systemd?.end()
    return
  }
  await withApp({ require: files, url, drain }, (hq) => runWorker(hq, { ...resolved, tag, child, starting }))
}

interface Running extends Resolved {
  tag: string
  child: Child | undefined
  starting: Starting
}

async function runWorker(hq: Highkiq, { settings, file, notes, tag, child, starting }: Running): Promise<void> {
  const { maxRetries, maxIterationRuntime, deadMax: max, deadSeconds: seconds, loggedJobAttributes, alerts } = settings
  hq[PROGRAM].useFile(
    { maxRetries, maxIterationRuntime, dead: { max, seconds }, loggedJobAttributes, alerts },
    file?.custom ?? {},
  )
  const every = settings.drain ? await everyQueue(hq, settings) : {}
  // Of several processes only the first logs what would be the same for all, and serves the dashboard.
  const isFirst = (child?.number ?? 1) === 1
  hq[PROGRAM].adviseUnserved((queues, own) => (isFirst ? adviceFor(queues, own) : undefined))
  const worker = hq.worker({ ...workerOptions(settings), ...every, tag })
  // Open the store before the worker starts, so that an error is logged once. The worker itself waits for leases of an
  // older version.
  await hq.store.open().catch((thrown) => {
    if (thrown.details?.retryAfterMs === undefined) throw thrown
  })
  const drained = settings.drain ? stopWhenEmpty(hq, worker) : undefined
  if (isFirst) {
    for (const note of notes) hq.log.warn({ file: file?.path }, note)
  }
  const systemd = systemdOf(() => hq.log)
  const release = keepTitle(hq, worker, tag)
  const state = () => `${worker.busy} of ${worker.slots} busy`
  hq.on('beat', () => systemd?.status(state()))
  const wanted = (settings.banner ?? true) && isFirst
  hq.on('startup', () => hello(hq, worker, wanted, file?.path))
  child?.attach(worker)
  const isServing = settings.web !== undefined && isFirst
  const web = isServing ? await openWeb(hq, settings, child) : undefined
  try {
    const ended = worker.run({
      onStart: () => {
        systemd?.ready(state())
        child?.ready(settings.maxMemory !== undefined)
        // This hint must not delay the start.
        if (isFirst) void tellUnserved(hq, worker).catch(() => {})
      },
      onStop: () => systemd?.stopping(),
      // The parent handles a second signal, because systemd and terminals signal both.
      ...(child ? { onSecondSignal: () => {} } : {}),
    })
    // The worker has its own handlers now.
    starting.end()
    await ended
  } finally {
    drained?.abort()
    release()
    await web?.close()
    await systemd?.end()
  }
}

/** Serves the dashboard. A child retries until the port is free, because its predecessor may still hold it. */
async function openWeb(
  hq: Highkiq,
  { web: port = WEB_PORT, webHost: host = WEB_HOST }: Settings,
  child: Child | undefined,
): Promise<{ close(): Promise<void> }> {
  const open = async () => {
    const web = await serveWeb(hq, { port, host })
    hq.log.info({ url: web.url }, `the dashboard is at ${web.url}/`)
    return web
  }
  if (!child) return open()
  const ended = new AbortController()
  const opening = (async () => {
    for (let tries = 0; !ended.signal.aborted; tries++) {
      try {
        return await open()
      } catch (thrown) {
        if (tries === 0) hq.log.warn({ err: thrown }, 'the dashboard is not served yet; retrying')
        await sleep(WEB_AGAIN_MS, undefined, { ref: false, signal: ended.signal }).catch(() => {})
      }
    }
    return undefined
  })()
  return {
    async close() {
      ended.abort()
      await (await opening)?.close()
    },
  }
}

/** Sets the variables from which the app's logger and child processes are configured. */
function setLogVariables({ verbose, logFormat, logFile }: Settings): void {
  if (verbose) io().env.HIGHKIQ_LOG_LEVEL = 'debug'
  if (logFormat) io().env.HIGHKIQ_LOG_FORMAT = logFormat
  if (logFile) io().env.HIGHKIQ_LOG_FILE = logFile
  checkLogVariables()
}

function workerOptions(settings: Settings): WorkerOptions {
  const { concurrency, queues, timeout, leaseSeconds, maxBlockSeconds, pollInterval, labels } = settings
  const { orderedConcurrency, logJobs = true } = settings
  const { default: own, ...capsules } = settings.capsules ?? {}
  const times = { timeout, leaseSeconds, maxBlockSeconds, pollInterval }
  return { concurrency, queues, ...own, capsules, ...times, orderedConcurrency, labels, logJobs }
}

function hello(hq: Highkiq, worker: Worker, wanted: boolean, config: string | undefined): void {
  const { concurrency, orderedConcurrency } = worker
  const { queues, capsules } = worker.options
  const others = Object.entries(capsules).map(([name, { queues = ['default'] }]) => `${name}: ${queues.join(' ')}`)
  const facts = { version: VERSION, store: hq.store.url, queues: queues.map(shownQueue), concurrency }
  const ordered = orderedConcurrency > 0 ? { orderedConcurrency } : {}
  const more = { ...ordered, ...(others.length > 0 ? { capsules: others } : {}), ...(config ? { config } : {}) }
  if (wanted && io().stderr.isTTY) io().stderr.write(banner({ ...facts, ...more }, io().stderr))
  else hq.log.info({ ...facts, ...more, identity: worker.identity }, `highkiq ${VERSION} is working: waiting for jobs`)
}

/** Logs the queues with jobs that no process serves: another app's, or one that -q leaves out. */
async function tellUnserved(hq: Highkiq, worker: Worker): Promise<void> {
  const known = new Set([...worker.queues, ...(await served(hq))])
  const left = (await hq.queueSummaries()).filter(({ name, size }) => size > 0 && !known.has(name))
  if (left.length === 0) return
  const shown = left.slice(0, MOST_SHOWN).map(({ name, size }) => `${name} (${plural(size, 'job')})`)
  const more = left.length > MOST_SHOWN ? [`and ${left.length - MOST_SHOWN} more`] : []
  hq.log.info(`no worker serves these queues, which have jobs (use -q NAME): ${[...shown, ...more].join(', ')}`)
}
