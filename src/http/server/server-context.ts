/** The state that all requests of one handler share: options, access, limits, live stats. */

import { randomBytes } from 'node:crypto'
import type { Highkiq } from '../../app.ts'
import { HighkiqError } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { given, refuseUnknown, shown } from '../../job/options.ts'
import { Access, type Auth } from '../access/access.ts'
import { type Audit, Auditor } from '../access/audit.ts'
import { Links } from '../access/link.ts'
import type { LoginEvent } from '../access/logins.ts'
import { type Redact, Redaction } from '../access/redact.ts'
import { Seal } from '../access/seal.ts'
import { JobCounters } from '../live/job-counters.ts'
import { LiveStatsFeed } from '../live/live-stats.ts'
import { TaskPoller } from '../live/task-poller.ts'
import { ThroughputCache } from '../live/throughput.ts'
import { TopJobsCache } from '../live/top-jobs.ts'
import { Dashboard } from './dashboard-files.ts'
import { DelayedRetries } from './delayed-retries.ts'
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
  /** Uploads at the same time by logged-in callers, and as many by links, one for each link; default 8. */
  uploads?: number
  /**
   * Event streams and waiting downloads at the same time by logged-in callers, and as many by links, a tenth of them
   * for each link; default 1,000.
   */
  streams?: number
  /** Seconds for which the client of a stream may leave data unread; default 60. */
  unreadSeconds?: number
}

const STANDARD: Required<Limits> = {
  bodyBytes: 10_000_000,
  uploadBytes: 1_000_000_000,
  rows: 1_000_000,
  bodySeconds: 30,
  uploads: 8,
  streams: 1000,
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
  /** The secret that signs the links for submitters; default: kept in the store. A new secret ends all links. */
  secret?: string
  /** Hides members of arguments and payloads, by name or by a function. The submitter's reports are not redacted. */
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

const OPTIONS: (keyof HttpOptions)[] = [
  ...(['auth', 'basePath', 'limits', 'imports', 'secret'] as const),
  ...(['redact', 'readOnly', 'audit', 'dashboard', 'trustProxy'] as const),
]

export class ServerContext {
  readonly base: string
  readonly limits: Required<Limits>
  readonly imports: Imports
  readonly access: Access
  readonly links: Links
  readonly redaction: Redaction
  readonly readOnly: boolean
  readonly auditor: Auditor
  readonly uploads: ConcurrencyLimit
  readonly streams: ConcurrencyLimit
  readonly taskPoller: TaskPoller
  readonly dashboard: Dashboard
  readonly delayedRetries: DelayedRetries
  readonly liveStats: LiveStatsFeed
  readonly throughputs: ThroughputCache
  readonly topJobs: TopJobsCache
  readonly jobCounters: JobCounters
  readonly #secret: () => Promise<string>
  #seal: Seal | undefined

  /** @throws INVALID_OPTION */
  constructor(hq: Highkiq, options: HttpOptions) {
    if (!isObject(options as unknown)) throw invalid('the options of http must be an object')
    refuseUnknown('http', options, OPTIONS)
    const {
      auth,
      basePath = '',
      limits = {},
      imports = {},
      secret,
      redact,
      readOnly = false,
      audit,
      dashboard,
      trustProxy,
    } = options
    if (secret !== undefined && (typeof secret !== 'string' || secret === '')) {
      throw invalid('secret must be a long random string')
    }
    if (dashboard !== undefined && (typeof dashboard !== 'string' || dashboard === '')) {
      throw invalid(`dashboard must be the path of a folder (got ${shown(dashboard)})`)
    }
    if (typeof readOnly !== 'boolean') throw invalid(`readOnly must be true or false (got ${shown(readOnly)})`)
    this.readOnly = readOnly
    this.auditor = new Auditor(hq, audit)
    this.base = checkBase(basePath)
    this.limits = checkLimits(limits)
    this.imports = checkImports(hq, imports)
    const ofLinks = async () => secret ?? hq.store.results.secret('links', randomBytes(32).toString('base64url'))
    this.links = new Links(ofLinks)
    this.#secret = ofLinks
    this.redaction = new Redaction(redact)
    const onLogin = (event: LoginEvent) => this.auditor.login(event)
    this.access = new Access(auth, this.links, { trustProxy, onLogin })
    const { uploads, streams } = this.limits
    this.uploads = new ConcurrencyLimit(uploads, 1, 'uploads')
    this.streams = new ConcurrencyLimit(streams, Math.ceil(streams / 10), 'streams')
    this.taskPoller = new TaskPoller(hq)
    this.dashboard = new Dashboard(dashboard)
    this.delayedRetries = new DelayedRetries(hq)
    this.liveStats = new LiveStatsFeed(hq, this.redaction)
    this.throughputs = new ThroughputCache(hq, this.liveStats)
    this.topJobs = new TopJobsCache(hq)
    this.jobCounters = new JobCounters(hq)
  }

  /** Returns the seal for cursors and keys. */
  async seal(): Promise<Seal> {
    this.#seal ??= new Seal(await this.#secret())
    return this.#seal
  }
}

/** Limits how many requests of one kind are open: for logged-in callers, and separately for links. */
export class ConcurrencyLimit {
  readonly #most: number
  readonly #mostOfLink: number
  readonly #what: string
  /** The number of open requests by the task of the link; the key undefined counts logged-in callers. */
  readonly #open = new Map<string | undefined, number>()
  #byLinks = 0

  constructor(most: number, mostOfLink: number, what: string) {
    this.#most = most
    this.#mostOfLink = mostOfLink
    this.#what = what
  }

  /**
   * Counts one more open request.
   * @param task the task whose link the caller used; undefined for a logged-in caller
   * @returns a function that ends it; a second call of it does nothing
   * @throws TOO_MANY_REQUESTS
   */
  enter(task?: string): () => void {
    const open = this.#open.get(task) ?? 0
    if (task === undefined) this.#refuseFrom(open, this.#most)
    else {
      this.#refuseFrom(open, this.#mostOfLink, ' of this link')
      this.#refuseFrom(this.#byLinks, this.#most, ' of links')
      this.#byLinks++
    }
    this.#open.set(task, open + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (task !== undefined) this.#byLinks--
      const left = (this.#open.get(task) ?? 1) - 1
      if (left > 0) this.#open.set(task, left)
      else this.#open.delete(task)
    }
  }

  #refuseFrom(open: number, most: number, whose = ''): void {
    if (open < most) return
    const message = `${most} ${this.#what}${whose} are open, which is the limit: try again later`
    throw new HighkiqError('TOO_MANY_REQUESTS', message, { limit: most })
  }
}

/** Removes trailing slashes: '', `/` and `/jobs/` become '', '' and '/jobs'. */
function checkBase(path: unknown): string {
  if (typeof path === 'string' && /^(\/[^?#\s]*)?$/.test(path)) return path.replace(/\/+$/, '')
  throw invalid(`basePath must be a path with a leading slash, such as '/jobs' (got ${shown(path)})`)
}

function checkLimits(limits: Limits): Required<Limits> {
  if (!isObject(limits as unknown))
    throw invalid(`limits must be an object, such as { uploads: 4 } (got ${shown(limits)})`)
  refuseUnknown('limits', limits, Object.keys(STANDARD))
  const all = { ...STANDARD, ...given(limits) }
  for (const [name, value] of Object.entries(all)) {
    if (typeof value === 'number' && value > 0) continue
    throw invalid(`limits.${name} must be a number above 0 (got ${shown(value)})`)
  }
  return all
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}
