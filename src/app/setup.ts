/** The settings of an app – from its options, a file, and the program that loads it – and the store that they name. */

import { resolve } from 'node:path'
import { storeUrl } from '../environment.ts'
import { recordingOf } from '../events/recording.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { guarded, type Logger, type LoggerFailure, loggerOf } from '../job/logger.ts'
import { given } from '../job/options.ts'
import { sidekiqOf } from '../job/payload.ts'
import { defaultLogger } from '../log.ts'
import type { Store } from '../store/contract.ts'
import { openStore } from '../store/open.ts'
import type { ThreadSource } from '../worker/threads/pool.ts'
import { type FileOptions, type HighkiqOptions, settled } from './options.ts'
import type { AppSettings } from './port.ts'
import { adviceInCode, type UnservedAdvice } from './unserved-queues.ts'

export class Setup {
  readonly options: HighkiqOptions
  readonly custom: Record<string, unknown> = {}
  /** The warning of a starting worker about queues that no process serves. */
  unservedAdvice: UnservedAdvice = adviceInCode
  #store: Store | undefined
  #refusal: string | undefined
  #log: Logger | undefined
  /** A URL that replaces that of the options. */
  #url: string | undefined
  #files: readonly (string | URL)[]
  #file: FileOptions = {}
  /** The app's own store while it drains another one; undefined otherwise. */
  #own: Store | undefined

  readonly #onLoggerFailure: LoggerFailure

  constructor(options: HighkiqOptions, onLoggerFailure: LoggerFailure) {
    this.options = options
    this.#onLoggerFailure = onLoggerFailure
    this.#files = options.files ?? []
  }

  /** The store; opened at its first use. @throws UNKNOWN_STORE, INVALID_OPTION; STORE_UNUSABLE after `refuseStore` */
  get store(): Store {
    if (this.#refusal !== undefined) throw new HighkiqError('STORE_UNUSABLE', this.#refusal)
    if (this.#store) return this.#store
    const { store, url, shards, events } = this.options
    this.#store = store ?? this.open(url ?? shards ?? storeUrl() ?? 'sqlite:highkiq.db')
    if (events?.keep !== undefined) recordingOf(this.#store, () => this.now()).keep(events.keep)
    return this.#store
  }

  /** Whether the store is sharded; false until it is created. It only decides on which shard a job is stored. */
  get isSharded(): boolean {
    return this.#store?.shardUrls !== undefined
  }

  get log(): Logger {
    const { logger } = this.options
    this.#log ??= logger ? guarded(loggerOf(logger), this.#onLoggerFailure) : defaultLogger()
    return this.#log
  }

  /** Whole milliseconds, whatever the option `clock` returns. */
  now(): number {
    return Math.floor(this.options.clock?.now() ?? Date.now())
  }

  /** The merged options. Precedence, highest first: the app, the file, Sidekiq's defaults. */
  get settled(): AppSettings {
    return settled(this.options, this.#file)
  }

  /** Where the threads of jobs find the jobs of this app. */
  get threadSource(): ThreadSource {
    return { files: this.#files, url: this.#url, inMemory: this.store.url === 'sqlite::memory:' }
  }

  get files(): readonly (string | URL)[] {
    return this.#files
  }

  /** Opens another store than the options name. @throws INVALID_OPTION when the store is already open */
  useUrl(url: string): void {
    if (this.#store) throw invalidOption(`the store ${this.#store.url} is already open`)
    this.#store = this.open(url)
    this.#url = url
  }

  /**
   * Makes the app drain the store at `url`.
   * @returns the app's own store, to which new jobs go
   * @throws INVALID_OPTION if both are the same store
   */
  drain(url: string): Store {
    const own = this.store
    const other = this.open(url)
    if (normalised(own.url) === normalised(other.url)) {
      throw invalidOption(
        `--drain: ${own.url} is the app's own store: name the new store by HIGHKIQ_URL, and the one to empty by --url`,
      )
    }
    this.#own = own
    this.#store = other
    return own
  }

  get isDraining(): boolean {
    return this.#own !== undefined
  }

  /** Makes every use of the store fail with this message. */
  refuseStore(why: string): void {
    this.#refusal = why
  }

  /** Sets the files that define the jobs, unless the options name them. */
  useFiles(files: readonly string[]): void {
    if (this.#files.length === 0) this.#files = files
  }

  /** Sets the options of a configuration file, for workers that are created later. The options of the app come first. */
  useFile(options: FileOptions, custom: Record<string, unknown>): void {
    this.#file = options
    Object.assign(this.custom, custom)
  }

  open(url: string | readonly string[]): Store {
    const { namespace, redisTimeout, waitForReplicas, redis, wire } = this.options
    const settings = { namespace, redisTimeout, waitForReplicas, redis, wire: wire && sidekiqOf(wire) }
    // The URL of the store, unlike the given one, has no password.
    const warn = (message: string) => this.log.warn({ store: store.url }, message)
    const store: Store = openStore(url, { ...given(settings), warn })
    return store
  }

  async close(): Promise<void> {
    await Promise.all([this.#store?.close(), this.#own?.close()])
  }
}

/** Returns a normalised store URL, so that different spellings of one file path are equal. */
function normalised(url: string): string {
  const path = /^sqlite:([^?]*)/.exec(url)?.[1]
  return path === undefined ? url : resolve(path)
}
