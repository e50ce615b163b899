/** The state that all requests of one handler share: options, access, limits, live stats. */

import { type Highkiq, PORT } from '../../app.ts'
import { REUSED_MS, storeReads } from '../../inspect/store-reads.ts'
import { cached } from '../../job/cached.ts'
import { HighkiqError } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { checkOptions, given, isAboveZero, type OptionKind } from '../../job/options.ts'
import { linkSecret, linksOf } from '../../tasks/link.ts'
import { Access, type Auth } from '../access/access.ts'
import { type Audit, auditorOf } from '../access/audit.ts'
import { type Redact, Redaction } from '../access/redact.ts'
import { Seal } from '../access/seal.ts'
import { Sessions } from '../access/sessions.ts'
import { diagnoses } from '../live/diagnosis.ts'
import { JobCounters } from '../live/job-counters.ts'
import { liveLists } from '../live/live-lists.ts'
import { LiveStatsFeed } from '../live/live-stats.ts'
import { queueInsight } from '../live/queue-insight.ts'
import { taskPoller } from '../live/task-poller.ts'
import { taskRates } from '../live/task-rates.ts'
import { snapshots, throughputs } from '../live/throughput.ts'
import { deployComparisons, topJobs } from '../live/top-jobs.ts'
import { Dashboard } from './dashboard-files.ts'
import { delayedRetries } from './delayed-retries.ts'
import { checkImports, type Imports } from './import-defaults.ts'

export interface Limits {
  /** Bytes of a JSON body, and of one line of NDJSON; default 10 MB. */
  bodyBytes?: number
  /** Bytes of a file that is imported, and of a stream of jobs; default 1 GB. */
  uploadBytes?: number
  /** Rows of a file that is imported, and jobs of a stream; default 1,000,000. */
  rows?: number
  /** Seconds that the server waits for a body, plus one for each 2,000 bytes that arrived; default 30. */
  bodySeconds?: number
  /** Seconds that the server waits in all for the body of a caller with a link; default 600. */
  linkBodySeconds?: number
  /** Uploads at the same time by logged-in callers, and as many by links, one for each link; default 8. */
  uploads?: number
  /** Event streams at the same time by logged-in callers, and as many by links, a tenth of them for each link; default 1,000. */
  streams?: number
  /**
   * Reports and downloads at the same time by logged-in callers, and as many by links, a tenth of them for each link;
   * default 100.
   */
  downloads?: number
  /** Seconds for which a client may leave an answer unread; default 60. */
  unreadSeconds?: number
}

const STANDARD: Required<Limits> = {
  bodyBytes: 10_000_000,
  uploadBytes: 1_000_000_000,
  rows: 1_000_000,
  bodySeconds: 30,
  linkBodySeconds: 600,
  uploads: 8,
  streams: 1000,
  downloads: 100,
  unreadSeconds: 60,
}

export interface HttpOptions {
  /**
   * The login. Without it the server accepts requests from this machine only, to a loopback name. See Auth.
   */
  auth?: Auth
  /** The mount path, for example `/jobs`; default `/`. */
  basePath?: string
  limits?: Limits
  /**
   * Import options by the name of the job: `{ ImportProduct: { validate: schema } }`. The parameters of a request
   * override them.
   */
  imports?: Imports
  /** The secret that signs the links for submitters; default: that of the app. A new secret ends all links. */
  secret?: string
  /** Hides members of arguments and payloads, by name or by a function. Reports by a link of `task.link` show all. */
  redact?: Redact
  /** Makes the server read-only, for operators and for submitters. */
  readOnly?: boolean
  /** Records each change and its caller: `true` in the log, or by a function. */
  audit?: Audit
  /**
   * Addresses and ranges of your proxies, for example `['10.0.0.0/8']`. The server believes the client's address that
   * they report (X-Forwarded-For), and counts wrong logins by it.
   */
  trustProxy?: readonly string[]
  /** The folder of a dashboard build; default: the build of this package. */
  dashboard?: string
}

const isFilled = (value: unknown) => typeof value === 'string' && value !== ''

const OPTIONS: Record<keyof HttpOptions, OptionKind> = {
  auth: null,
  basePath: [
    (value) => typeof value === 'string' && /^(\/[^?#\s]*)?$/.test(value),
    "a path with a leading slash, such as '/jobs'",
  ],
  limits: [isObject, 'an object, such as { uploads: 4 }'],
  imports: [isObject, 'an object with import options by job name'],
  secret: [isFilled, 'a long random string'],
  redact: null,
  readOnly: 'flag',
  audit: null,
  trustProxy: null,
  dashboard: [isFilled, 'the path of a folder'],
}
const ABOVE_ZERO: OptionKind = [isAboveZero, 'a number above 0']
const LIMITS = Object.fromEntries(Object.keys(STANDARD).map((name) => [name, ABOVE_ZERO]))

export type ServerContext = ReturnType<typeof serverContext>

/** @throws INVALID_OPTION */
export function serverContext(hq: Highkiq, options: HttpOptions) {
  checkOptions('http', options, OPTIONS)
  checkOptions('limits', options.limits ?? {}, LIMITS)
  const limits: Required<Limits> = { ...STANDARD, ...given(options.limits ?? {}) }
  // The store may be unavailable when the secret is first needed: the next request asks it again.
  const secret = cached(Number.POSITIVE_INFINITY, async () => {
    return options.secret ?? linkSecret(hq[PORT])
  })
  const auditor = auditorOf(hq, options.audit)
  const links = linksOf(hq[PORT], secret)
  const redaction = new Redaction(options.redact)
  const { readOnly = false } = options
  const reads = storeReads(hq, REUSED_MS)
  const liveStats = new LiveStatsFeed(hq, redaction, reads)
  return {
    /** The mount path without a slash at its end: '' or '/jobs'. */
    base: (options.basePath ?? '').replace(/\/+$/, ''),
    limits,
    imports: checkImports(hq, options.imports ?? {}),
    access: new Access(options.auth, {
      links,
      sessions: new Sessions(() => hq.store.results),
      hidesValues: redaction.isOn,
      trustProxy: options.trustProxy,
      onLogin: auditor.login,
    }),
    links,
    redaction,
    readOnly,
    auditor,
    uploads: concurrencyLimit(limits.uploads, 1, 'uploads'),
    streams: concurrencyLimit(limits.streams, Math.ceil(limits.streams / 10), 'streams'),
    downloads: concurrencyLimit(limits.downloads, Math.ceil(limits.downloads / 10), 'downloads'),
    watchTask: taskPoller(hq),
    taskRates: taskRates(hq),
    dashboard: new Dashboard(options.dashboard),
    delayedRetries: delayedRetries(hq),
    /** Values that several answers share. They are at most a second old. */
    reads,
    liveStats,
    liveLists: liveLists(hq, reads),
    queueInsight: queueInsight(hq, redaction),
    throughputs: throughputs(hq, liveStats),
    snapshots: snapshots(hq),
    topJobs: topJobs(hq),
    deployComparisons: deployComparisons(hq),
    diagnosis: diagnoses(hq, redaction, readOnly),
    jobCounters: new JobCounters(hq),
    /** The seal for cursors and keys. */
    seal: cached(Number.POSITIVE_INFINITY, async () => new Seal(await secret())),
  }
}

/** Limits how many requests of one kind are open: for logged-in callers, and separately for links. */
function concurrencyLimit(most: number, mostOfLink: number, what: string) {
  /** The number of open requests by the holder of the link; the key undefined counts logged-in callers. */
  const open = new Map<string | undefined, number>()
  let byLinks = 0
  const refuseFrom = (count: number, limit: number, whose = '') => {
    if (count < limit) return
    const message = `${limit} ${what}${whose} are open, which is the limit: try again later`
    throw new HighkiqError('TOO_MANY_REQUESTS', message, { problem: 'open', limit })
  }
  return {
    /**
     * Counts one more open request.
     * @param holder the holder of the link that the caller used; undefined for a logged-in caller
     * @returns a function that ends it; a second call of it does nothing
     * @throws TOO_MANY_REQUESTS
     */
    enter(holder?: string): () => void {
      const count = open.get(holder) ?? 0
      if (holder === undefined) refuseFrom(count, most)
      else {
        refuseFrom(count, mostOfLink, ' of this link')
        refuseFrom(byLinks, most, ' of links')
        byLinks++
      }
      open.set(holder, count + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        if (holder !== undefined) byLinks--
        const left = (open.get(holder) ?? 1) - 1
        if (left > 0) open.set(holder, left)
        else open.delete(holder)
      }
    },
  }
}
