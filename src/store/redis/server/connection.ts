/**
 * One connection to the server. It never resends a command, and queues none while it is disconnected. So a command is
 * written now or not at all, and the caller knows whether it may have been carried out.
 */

import { createHash } from 'node:crypto'
import type { ChainableCommander, Redis } from 'ioredis'
import { HighkiqError, hasCode } from '../../../job/errors.ts'
import { adviceOnFiles } from '../../../job/open-files.ts'
import required from '../../../load/required.cjs'
import type { lua } from '../lua.generated.ts'
import { clusterConnector } from './cluster.ts'
import { closedError, hinted, isReply, isSilence, MOVED, maybeDone, messageOf, REFUSED, TEMPORARY } from './errors.ts'
import { keysOf } from './keys.ts'
import type { RedisStoreOptions } from './url.ts'

export type Script = (typeof lua)[keyof typeof lua]
export type Argument = string | number | Buffer
/** Adds commands to a pipeline or transaction. */
export type Fill = (pipeline: ChainableCommander) => unknown
export type Reply = string | number | null | Reply[]

/** The longest pause before a connection is made again. */
const LONGEST_RETRY_MS = 500
/** The share of `commandTimeout` for which a push waits for replicas: the connection carries no other command then. */
const WAIT_SHARE = 0.2
/** How long the key stays that is written before each wait for replicas. */
const REPLICATED_SECONDS = 60
/** Until the others have elected another master, the nodes of a cluster name the one that is gone. */
const CLUSTER_CONNECT_MS = 2000

export class Connection {
  readonly client: Redis
  readonly #about: Pick<RedisStoreOptions, 'url' | 'commandTimeout' | 'cluster'>
  readonly #absentKey: string
  readonly #onLost: () => void
  #closed = false
  #failure = ''
  /** When this connection was last made again, on the monotonic clock; 0 for never. */
  #renewedAt = 0
  #wasReady = false
  /** How often the connection was made. */
  #generation = 0
  readonly #waiting = new Set<() => void>()
  /** The scripts that were sent in full since the connection was made. */
  readonly #sent = new Set<Script>()
  /** The number of calls without an answer so far. */
  #awaited = 0
  /** Whether the connection was dropped while it was being made, so that it may lead to the old master. */
  #isOutdated = false

  /** `blocking`: its commands have no timeout here. `onLost` runs when an established connection breaks. */
  constructor(options: RedisStoreOptions, how: { blocking?: boolean; onLost?: () => void } = {}) {
    this.#about = options
    this.#onLost = how.onLost ?? (() => {})
    const ioredis = loadClient(options.url)
    const { cluster } = options
    this.#absentKey = keysOf(options.namespace).absent
    this.client = new ioredis.Redis({
      ...options.redis,
      ...(cluster && { Connector: clusterConnector(ioredis, { ...options, cluster }, this.#absentKey) }),
      lazyConnect: true,
      connectTimeout: cluster ? Math.min(options.commandTimeout, CLUSTER_CONNECT_MS) : options.commandTimeout,
      ...(how.blocking ? {} : { commandTimeout: options.commandTimeout }),
      // When the connection breaks, all commands without an answer reject at once.
      maxRetriesPerRequest: 0,
      // Its errors could not be handled.
      autoResubscribe: false,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // A blocking connection is known by its client id, which a new connection would not have. So it is dropped.
      retryStrategy: (times) =>
        how.blocking ? null : Math.min(25 * 2 ** Math.min(times, 8), LONGEST_RETRY_MS) * (0.75 + Math.random() / 2),
      reconnectOnError: (error) => MOVED.test(messageOf(error)),
    })
    this.client.on('error', (error: Error) => {
      this.#failure = adviceOnFiles(error) ?? (isSilence(error, options.url) ? 'no answer' : error.message)
      this.#changed()
    })
    this.client.on('connect', () => {
      this.#failure = ''
    })
    this.client.on('ready', () => {
      // When the database does not exist, ioredis has emitted an error, and would use database 0.
      if (REFUSED.test(this.#failure)) {
        this.client.disconnect()
        return
      }
      if (this.#isOutdated) {
        this.#isOutdated = false
        this.client.stream?.destroy()
        return
      }
      if (this.#wasReady) this.#renewedAt = performance.now()
      this.#wasReady = true
      this.#generation++
      this.#sent.clear()
      if (this.#awaited === 0) this.client.stream?.unref()
      this.#changed()
    })
    this.client.on('end', () => this.#changed())
    this.client.on('close', () => {
      if (this.#wasReady && !this.#closed) this.#onLost()
    })
  }

  get isReady(): boolean {
    return this.client.status === 'ready' && this.client.stream?.writable === true
  }

  /** Milliseconds since the connection was made again; infinite when it never broke. */
  get unbrokenFor(): number {
    return this.#renewedAt === 0 ? Number.POSITIVE_INFINITY : performance.now() - this.#renewedAt
  }

  /**
   * Runs `work`; resolves once `replicas` replicas have all that the server had stored by then. It writes to `key`, because WAIT
   * covers only the writes of its own connection: a repeated push that finds its jobs stored has made none.
   * @throws STORE_TIMEOUT when they do not confirm within a fifth of `commandTimeout`: what is stored stands, but a failover
   * may lose it
   */
  async replicated<T>(replicas: number, key: string, work: () => Promise<T>): Promise<T> {
    const generation = this.#generation
    const result = await work()
    const { url, commandTimeout } = this.#about
    const ms = Math.ceil(commandTimeout * WAIT_SHARE)
    const answers = await this.callAll((client) => [
      client.set(key, '', 'EX', REPLICATED_SECONDS),
      client.wait(replicas, ms),
    ])
    const [failed] = answers.find(([error]) => error) ?? []
    if (failed) {
      const { code, message } = this.explain(failed) as HighkiqError
      throw new HighkiqError(code, message, { sent: true }, { cause: failed })
    }
    const found = Number(answers[1]?.[1])
    // Another connection may lead to another master.
    if (found >= replicas && generation === this.#generation) return result
    const text = `${url}: stored, but only ${found} of ${replicas} replicas (waitForReplicas) have confirmed it`
    throw new HighkiqError('STORE_TIMEOUT', text, { sent: true })
  }

  /** Resolves when commands can be written. @throws STORE_UNREACHABLE, STORE_UNUSABLE, STORE_CLOSED */
  async ready(ms = this.#about.commandTimeout): Promise<void> {
    if (this.isReady) return
    if (this.#closed) throw closedError(this.#about.url)
    // The listener for errors gets the reason of a failure.
    if (this.client.status === 'wait' || this.client.status === 'end') this.client.connect().catch(() => {})
    const end = performance.now() + ms
    while (!this.isReady) {
      if (this.#closed) throw closedError(this.#about.url)
      if (REFUSED.test(this.#failure))
        throw new HighkiqError('STORE_UNUSABLE', `${this.#about.url}: ${hinted(this.#failure, this.#about.url)}`)
      const left = end - performance.now()
      // A blocking connection does not connect again by itself.
      if (left <= 0 || this.client.status === 'end') {
        const why = hinted(this.#failure || 'no answer', this.#about.url)
        throw new HighkiqError('STORE_UNREACHABLE', `${this.#about.url} can't be reached: ${why}`)
      }
      await this.#change(Math.min(left, 250))
    }
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    return this.#run(script, (name) => this.client.call(...this.scriptCall(name, script, keys, args)))
  }

  /** Runs a script that answers texts, which may not be valid UTF-8. */
  runForBytes<T = Buffer[]>(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<T> {
    return this.#run(script, (name) => this.client.callBuffer(...this.scriptCall(name, script, keys, args)))
  }

  /**
   * Returns the command that runs a script, with its arguments. While the hash slot of a cluster moves to another node, its keys
   * move one by one. A script that misses a key which it did not declare fails in the middle, and what it wrote stays. So in a
   * cluster each script also declares a key that never exists: then the node refuses it before it begins.
   */
  scriptCall(
    name: 'EVAL' | 'EVALSHA',
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
  ): [name: string, ...args: Argument[]] {
    const isInCluster = this.#about.cluster !== undefined
    const { source, sha } = isInCluster ? withoutLastKey(script) : script
    const all = isInCluster ? [...keys, this.#absentKey] : keys
    return [name, name === 'EVAL' ? source : sha, all.length, ...all, ...args]
  }

  /** The first use of a script sends it in full: a call that is repeated for that would run after those sent behind it. */
  async #run<T>(script: Script, send: (name: 'EVAL' | 'EVALSHA') => Promise<unknown>): Promise<T> {
    const sent = await this.call(() => {
      if (!this.#sent.has(script)) {
        this.#sent.add(script)
        return send('EVAL').catch((thrown) => {
          // A server that refuses the call does not keep the script.
          this.#sent.delete(script)
          throw thrown
        })
      }
      return send('EVALSHA').catch((thrown: Error) => {
        if (!thrown.message?.startsWith('NOSCRIPT')) throw thrown
        return send('EVAL')
      })
    })
    return sent as T
  }

  /** Runs one command. */
  async call<T = Reply>(work: (client: Redis) => Promise<T>): Promise<T> {
    // After this check, an error means that the command may have been sent.
    if (this.#closed) throw closedError(this.#about.url)
    this.#await(1)
    try {
      return await work(this.client)
    } catch (thrown) {
      throw this.explain(thrown)
    } finally {
      this.#await(-1)
    }
  }

  /** Sends commands together; returns their answers, or throws the first error. For `channel` see `pipeline`. */
  async all(fill: Fill, channel?: string): Promise<Reply[]> {
    return this.#answers(await this.pipeline(fill, channel))
  }

  /** Sends commands together. The answer for a key of the wrong type is undefined: it must not stop the others. */
  async readable(fill: Fill): Promise<(Reply | undefined)[]> {
    const results = await this.pipeline(fill)
    return results.map(([error, reply]) => {
      if (!error) return reply
      const explained = this.explain(error)
      if (!hasCode(explained, 'STORE_UNUSABLE')) throw explained
      return undefined
    })
  }

  /**
   * Sends commands together; returns an answer or an error for each. Then `channel` gets an empty message, whose error
   * is ignored: the Redis user may have no right to the channel, and its readers poll as well.
   */
  async pipeline(fill: Fill, channel?: string): Promise<[Error | null, Reply][]> {
    const pipeline = this.client.pipeline()
    fill(pipeline)
    const { length } = pipeline
    if (length === 0) return []
    if (channel !== undefined) pipeline.publish(channel, '')
    const results = ((await this.call(() => pipeline.exec())) ?? []) as [Error | null, Reply][]
    return results.slice(0, length)
  }

  /**
   * Sends the commands of `work` in one write; returns an answer or an error for each. `channel` is notified as above. It
   * costs less than a pipeline for few commands.
   */
  async callAll(work: (client: Redis) => Promise<unknown>[], channel?: string): Promise<[Error | null, Reply][]> {
    return this.call((client) => {
      const { stream } = client
      stream?.cork()
      try {
        const sent = work(client)
        if (channel !== undefined) client.publish(channel, '').catch(() => {})
        return Promise.all(sent.map((answer) => answer.then(answered, failed)))
      } finally {
        stream?.uncork()
      }
    })
  }

  #answers(results: readonly [Error | null, unknown][]): Reply[] {
    return results.map(([error, reply]) => {
      if (error) throw this.explain(error)
      return reply as Reply
    })
  }

  /** Makes a HighkiqError of any error. After a timeout it also drops the connection. */
  explain(thrown: unknown): unknown {
    if (thrown instanceof HighkiqError) return thrown
    // A refused transaction carries the error of its first refused command.
    const [first] = (thrown as { previousErrors?: Error[] }).previousErrors ?? []
    if (first && first !== thrown) return this.explain(first)
    const message = messageOf(thrown)
    const say = (code: ConstructorParameters<typeof HighkiqError>[0], text: string) =>
      new HighkiqError(code, `${this.#about.url}: ${text}`, { sent: maybeDone(thrown) }, { cause: thrown })
    if (this.#closed) return closedError(this.#about.url, maybeDone(thrown))
    if (message.startsWith('OOM')) {
      return say(
        'STORE_FULL',
        'its memory is used up (maxmemory): give the server more, or let workers empty the queues',
      )
    }
    if (/^(MOVED|CROSSSLOT)\b/.test(message) && !this.#about.cluster)
      return say('STORE_UNUSABLE', 'the server is a node of a cluster: use redis+cluster://')
    if (TEMPORARY.test(message)) return say('STORE_UNREACHABLE', message)
    if (isReply(thrown)) return say('STORE_UNUSABLE', hinted(message, this.#about.url))
    if (message === 'Command timed out') {
      // Destroyed instead of closed in order, because the server does not answer.
      this.client.stream?.destroy()
      return say('STORE_TIMEOUT', `no answer within ${this.#about.commandTimeout / 1000} s`)
    }
    return say('STORE_UNREACHABLE', `the connection was lost${this.#failure ? `: ${this.#failure}` : ''}`)
  }

  /** Breaks the connection; it is made again. Commands without an answer reject, and may have been carried out. */
  drop(): void {
    if (this.client.status === 'ready') this.client.stream?.destroy()
    else this.#isOutdated = this.client.status === 'connecting' || this.client.status === 'connect'
  }

  close(): void {
    this.#closed = true
    // ioredis would wait 2 s for the end of a connection that has ended already, and keep the process alive.
    if (this.client.status !== 'end') this.client.disconnect()
    this.#changed()
  }

  /** Keeps the process alive only while a call has no answer, so that a process that only pushes can end. */
  #await(change: 1 | -1): void {
    this.#awaited += change
    const { stream } = this.client
    // Without a handle, a socket would keep a listener for each of these calls. A new connection is set when it is ready.
    if (!stream || stream.destroyed || stream.pending) return
    if (this.#awaited === 0) stream.unref()
    else if (this.#awaited === 1 && change === 1) stream.ref()
  }

  /** Resolves when the state of the connection changes, at the latest after `ms`. */
  #change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiting.add(done)
    })
  }

  #changed(): void {
    for (const done of this.#waiting) done()
  }
}

/** Loads the client, which apps that use SQLite do not need. @throws STORE_UNREACHABLE when too many files are open */
function loadClient(url: string): typeof import('ioredis') {
  try {
    return required.ioredis()
  } catch (thrown) {
    const advice = adviceOnFiles(thrown)
    if (advice === undefined) throw thrown
    throw new HighkiqError('STORE_UNREACHABLE', `${url} can't be reached: ${advice}`, undefined, { cause: thrown })
  }
}

const inCluster = new Map<Script, Pick<Script, 'source' | 'sha'>>()

/** Returns a script that removes the last of its keys before it begins. */
function withoutLastKey(script: Script): Pick<Script, 'source' | 'sha'> {
  let changed = inCluster.get(script)
  if (!changed) {
    // On the first line, so that errors name the right lines.
    const source = `KEYS[#KEYS] = nil ${script.source}`
    changed = { source, sha: createHash('sha1').update(source).digest('hex') }
    inCluster.set(script, changed)
  }
  return changed
}

const answered = (reply: unknown): [null, Reply] => [null, reply as Reply]
const failed = (error: Error): [Error, null] => [error, null]
