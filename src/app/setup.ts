/** What an app is told – by its options, by a file, by the program that loads it – and what it opens by that. */

import { resolve } from 'node:path'
import { storeUrl } from '../environment.ts'
import { HighkiqError } from '../job/errors.ts'
import { type Logger, loggerOf } from '../job/logger.ts'
import { sidekiqOf } from '../job/payload.ts'
import { defaultLogger } from '../log.ts'
import type { Store } from '../store/contract.ts'
import { openStore } from '../store/open.ts'
import type { ThreadSource } from '../worker/threads/pool.ts'
import { type FileOptions, type HighkiqOptions, type Settled, settled } from './options.ts'

export class Setup {
  readonly options: HighkiqOptions
  /** What a file says that Highkiq itself does not know. */
  readonly custom: Record<string, unknown> = {}
  #store: Store | undefined
  #refusal: string | undefined
  #log: Logger | undefined
  /** Instead of the options' own. */
  #url: string | undefined
  #files: readonly (string | URL)[]
  #file: FileOptions = {}
  /** The app's own store while it drains another one; undefined otherwise. */
  #own: Store | undefined

  constructor(options: HighkiqOptions) {
    this.options = options
    this.#files = options.files ?? []
  }

  /** Opened at the first need. @throws UNKNOWN_STORE, INVALID_OPTION, STORE_UNUSABLE: it was refused */
  get store(): Store {
    if (this.#refusal !== undefined) throw new HighkiqError('STORE_UNUSABLE', this.#refusal)
    this.#store ??= this.options.store ?? this.open(this.options.url ?? storeUrl() ?? 'sqlite:highkiq.db')
    return this.#store
  }

  get log(): Logger {
    this.#log ??= this.options.logger ? loggerOf(this.options.logger) : defaultLogger()
    return this.#log
  }

  /** Whole milliseconds, whatever a clock of one's own gives. */
  now(): number {
    return Math.floor(this.options.clock?.now() ?? Date.now())
  }

  /** What the app says, else the file, else what Sidekiq has. */
  get settled(): Settled {
    return settled(this.options, this.#file)
  }

  /** Where the threads of jobs find what is defined here. */
  get threadSource(): ThreadSource {
    return { files: this.#files, url: this.#url, inMemory: this.store.url === 'sqlite::memory:' }
  }

  get files(): readonly (string | URL)[] {
    return this.#files
  }

  /** Another store than the one that the app was made for, before it is first used. @throws INVALID_OPTION */
  useUrl(url: string): void {
    if (this.#store) throw new HighkiqError('INVALID_OPTION', `the store ${this.#store.url} is open already`)
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
    if (placeOf(own.url) === placeOf(other.url)) {
      throw new HighkiqError(
        'INVALID_OPTION',
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

  /** There is no store here, and this is why. */
  refuseStore(why: string): void {
    this.#refusal = why
  }

  /** The files that were loaded to have this app, where it does not name them itself. */
  useFiles(files: readonly string[]): void {
    if (this.#files.length === 0) this.#files = files
  }

  /** What a configuration file says, for workers that are made from now on: what the app says itself comes first. */
  useFile(options: FileOptions, custom: Record<string, unknown>): void {
    this.#file = options
    Object.assign(this.custom, custom)
  }

  open(url: string): Store {
    const { namespace, redisTimeout, waitForReplicas, redis, wire } = this.options
    const settings = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(redisTimeout === undefined ? {} : { redisTimeout }),
      ...(waitForReplicas === undefined ? {} : { waitForReplicas }),
      ...(redis ? { redis } : {}),
      ...(wire === undefined ? {} : { wire: sidekiqOf(wire) }),
    }
    return openStore(url, settings, (message) => this.log.warn({ store: url }, message))
  }

  async close(): Promise<void> {
    await Promise.all([this.#store?.close(), this.#own?.close()])
  }
}

/** Returns a normalised store URL, so that different spellings of one file path are equal. */
function placeOf(url: string): string {
  const path = /^sqlite:([^?]*)/.exec(url)?.[1]
  return path === undefined ? url : resolve(path)
}
