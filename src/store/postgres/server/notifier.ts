/**
 * Wakes waiters of this process and of others. A push after a pause sends NOTIFY in its own statement, so that a worker wakes at its
 * commit. Under load NOTIFY is sent at intervals, and outside of any transaction that stores something, because PostgreSQL lets
 * transactions with a NOTIFY commit one after the other.
 * Where nothing can be heard (transaction pooling, a lost connection) waiters ask at intervals.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { within } from '../../../job/wait.ts'
import { END_MS, endClient } from './ending.ts'

/** The pause after a NOTIFY. It doubles while notifications are wanted more often than every OFTEN_MS on average. */
const FIRST_PAUSE_MS = 1
const MOST_PAUSE_MS = 10
const OFTEN_MS = 2.5
/** The next NOTIFY does not wait longer for the answer to the one before. */
const MOST_ANSWER_MS = 200
/** A payload has at most 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7000
/** The intervals at which waiters ask, while the server is heard, and while it is not. */
const POLL_MS = 1000
const POLL_DEAF_MS = 100
const RECONNECT_MS = 500

export interface NotifierOptions {
  /** The name of the channel on the server. */
  channel: string
  /** Opens the connection that listens; undefined: nothing can be heard. */
  connect: (() => Promise<Client>) | undefined
  /** Sends a payload to the channel. */
  send(payload: string): Promise<void>
}

/** The arguments of pg_notify. */
export interface Notification {
  channel: string
  payload: string
}

export class Notifier {
  readonly #options: NotifierOptions
  readonly #id = randomUUID()
  readonly #watches = new Set<Watch>()
  readonly #pending = new Set<string>()
  /** How often a notification was wanted since the last NOTIFY. */
  #wanted = 0
  /** Whether a push is under way that sends a notification in its own statement. */
  #isInPush = false
  /** Whether NOTIFY is sent at intervals, or the pause after a notification has not ended. */
  #isSending = false
  #poll: NodeJS.Timeout | undefined
  #listening: Promise<void> | undefined
  #client: Client | undefined
  /** The connection whose LISTEN has no answer yet. */
  #next: Client | undefined
  #hears = false
  #closed = false

  constructor(options: NotifierOptions) {
    this.#options = options
  }

  /** Wakes the waiters of the channels, here at once and in other processes soon. */
  notify(channels: Iterable<string>): void {
    const names = [...channels]
    if (names.length === 0) return
    this.#wake(new Set(names))
    for (const name of names) this.#pending.add(name)
    this.#wanted++
    if (this.#closed || this.#isSending) return
    this.#isSending = true
    setImmediate(() => this.#send())
  }

  /**
   * Wakes the waiters of the channels after a statement, which `send` begins. The statement sends the notification itself, to the
   * channel and with the payload that `send` gets, so that other processes wake at its commit. Under load, and beside another
   * such statement, `send` gets none, and a NOTIFY after it wakes them.
   */
  async notifyWith<T>(channels: readonly string[], send: (within?: Notification) => Promise<T>): Promise<T> {
    if (channels.length === 0) return send()
    if (this.#closed || this.#isSending || this.#isInPush) {
      const answer = await send()
      this.notify(channels)
      return answer
    }
    this.#isInPush = true
    try {
      const answer = await send({ channel: this.#options.channel, payload: payloadOf(this.#id, channels) })
      this.#wake(new Set(channels))
      return answer
    } finally {
      this.#isInPush = false
      this.#sendLater()
    }
  }

  /** Resolves at a notification of one of the channels, when it is time to ask, after `ms`, or on abort. */
  async wait(channels: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    const watch = this.watch(channels)
    await watch.next(ms, signal)
    watch.end()
  }

  /** Watches channels from now on, until the end of the watch. */
  watch(channels: readonly string[]): Watch {
    const watch = new Watch(channels, () => this.#watches.delete(watch))
    if (this.#closed) watch.notify()
    else {
      this.#watches.add(watch)
      this.#listen()
    }
    return watch
  }

  /** Ends the connection that listens, so that another one is opened, to where the address leads now. */
  reconnect(): void {
    if (this.#client) void endClient(this.#client)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#poll)
    if (this.#pending.size > 0) await this.#send()
    this.#wakeAll()
    if (this.#listening) await within(END_MS, this.#listening)
    for (const client of [this.#client, this.#next]) if (client) await endClient(client)
  }

  #wake(channels: ReadonlySet<string>): void {
    for (const watch of this.#watches) if (watch.channels.some((channel) => channels.has(channel))) watch.notify()
  }

  #wakeAll(): void {
    for (const watch of this.#watches) watch.notify()
  }

  /** Sends what is pending; what comes meanwhile goes with the next one. */
  async #send(pause = FIRST_PAUSE_MS): Promise<void> {
    while (this.#pending.size > 0) {
      const payload = payloadOf(this.#id, this.#pending)
      this.#pending.clear()
      this.#wanted = 0
      // A notification that is lost delays a job by the interval at which waiters ask.
      await within(
        MOST_ANSWER_MS,
        this.#options.send(payload).catch(() => undefined),
      )
      if (!this.#closed) await sleep(pause)
      pause = this.#wanted * OFTEN_MS > pause ? Math.min(2 * pause, MOST_PAUSE_MS) : FIRST_PAUSE_MS
    }
    this.#isSending = false
  }

  /** Sends what is pending after the first pause. */
  async #sendLater(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    if (!this.#closed) await sleep(FIRST_PAUSE_MS)
    await this.#send(2 * FIRST_PAUSE_MS)
  }

  #listen(): void {
    this.#pollLater()
    if (!this.#options.connect || this.#listening) return
    this.#listening = this.#connect().catch(() => this.#listenLater())
  }

  #listenLater(): void {
    this.#hears = false
    if (this.#closed) return
    setTimeout(() => {
      this.#listening = undefined
      if (!this.#closed && this.#watches.size > 0) this.#listen()
    }, RECONNECT_MS).unref()
  }

  async #connect(): Promise<void> {
    const client = await (this.#options.connect as () => Promise<Client>)()
    const lost = () => {
      if (this.#client !== client) return
      this.#client = undefined
      this.#listenLater()
      // What was sent meanwhile is not heard.
      this.#wakeAll()
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload = '' }) => this.#heard(payload))
    this.#next = client
    try {
      await client.query(`LISTEN "${this.#options.channel}"`)
    } catch (thrown) {
      await endClient(client)
      throw thrown
    } finally {
      this.#next = undefined
    }
    if (this.#closed) return endClient(client)
    this.#client = client
    this.#hears = true
    // What was sent before is not heard.
    this.#wakeAll()
  }

  #heard(payload: string): void {
    try {
      const [from, ...channels] = JSON.parse(payload) as string[]
      if (from === this.#id) return
      if (channels.length === 0) this.#wakeAll()
      else this.#wake(new Set(channels))
    } catch {
      // Somebody else has sent it.
      this.#wakeAll()
    }
  }

  /** Tells the watches at intervals that it is time to ask, as long as there are any. */
  #pollLater(): void {
    if (this.#poll || this.#closed) return
    this.#poll = setTimeout(
      () => {
        this.#poll = undefined
        this.#wakeAll()
        if (this.#watches.size > 0) this.#pollLater()
      },
      this.#hears ? POLL_MS : POLL_DEAF_MS,
    ).unref()
  }
}

/** Remembers whether one of its channels was notified, so that none is missed while its owner reads. */
export class Watch {
  readonly channels: readonly string[]
  readonly end: () => void
  #isNotified = false
  #wake: (() => void) | undefined

  constructor(channels: readonly string[], end: () => void) {
    this.channels = channels
    this.end = end
  }

  notify(): void {
    this.#isNotified = true
    this.#wake?.()
  }

  /** Resolves when a channel was notified, or it was time to ask, since the last call; at the latest after `ms`, or on abort. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isNotified && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          this.#wake = undefined
          resolve()
        }
        const timer = setTimeout(done, ms)
        signal.addEventListener('abort', done)
        this.#wake = done
      })
    }
    this.#isNotified = false
  }
}

/** Returns the name of the channel of a schema on the server. */
export function channelOf(schema: string): string {
  return `highkiq ${schema}`
}

/** Returns what wakes the waiters of the channels in all processes, except that of the notifier with the id `from`. */
export function payloadOf(from: string, channels: Iterable<string>): string {
  const all = JSON.stringify([from, ...channels])
  // A payload without names wakes all waiters: the names would be too long for one payload.
  return Buffer.byteLength(all) > MAX_PAYLOAD_BYTES ? JSON.stringify([from]) : all
}
