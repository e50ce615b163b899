/** Kept results of jobs: a text for each, and a channel of the same name that notifies the processes that wait for it. */

import { once } from 'node:events'
import type { ResultStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import type { Connection } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'

/** How often a wait reads the key again: a message on the channel may be lost. */
const POLL_MS = 2000
/** How long the store waits before it connects again to listen to channels. */
const RETRY_MS = 200

export class Results extends StorePart implements ResultStore {
  readonly #waiting = new Map<string, Set<() => void>>()
  #listening: Promise<Connection | undefined> | undefined

  async keep(jid: string, text: string, seconds: number): Promise<void> {
    const key = this.keys.result(jid)
    await this.server.all((pipeline) => pipeline.set(key, text, 'PX', Math.ceil(seconds * 1000)), key)
  }

  async find(jid: string, ms = 0, signal?: AbortSignal): Promise<string | null> {
    const key = this.keys.result(jid)
    const end = performance.now() + ms
    for (;;) {
      const wait = Math.min(end - performance.now(), POLL_MS)
      // Subscribe before reading, so that a result that is kept in between is not missed.
      const subscription = wait > 0 && !signal?.aborted ? await this.#subscribe(key, wait, signal) : undefined
      try {
        const text = await this.server.call((client) => client.get(key))
        if (text !== null || !subscription) return text
        await subscription.notified
      } finally {
        subscription?.end()
      }
    }
  }

  async remember(key: string, value: string, seconds: number, instead?: string): Promise<string | null> {
    const args = [value, Math.round(seconds * 1000), instead === undefined ? '' : `=${instead}`]
    return (await this.server.run(lua.remember, [this.keys.remembered(key)], args)) as string | null
  }

  async secret(name: string, proposed: string): Promise<string> {
    const key = this.keys.secret(name)
    const [, text] = await this.server.all((pipeline) => pipeline.setnx(key, proposed).get(key))
    return text as string
  }

  async linkVersion(list: string): Promise<number> {
    return Number((await this.server.call((client) => client.hget(this.keys.linkVersions, list))) ?? 0)
  }

  async raiseLinkVersion(list: string, atLeast = 0): Promise<void> {
    await this.server.run(lua.raiseLinkVersion, [this.keys.linkVersions], [list, atLeast])
  }

  async linkVersions(): Promise<Record<string, number>> {
    const found = await this.server.call((client) => client.hgetall(this.keys.linkVersions))
    return Object.fromEntries(Object.entries(found).map(([list, version]) => [list, Number(version)]))
  }

  async #subscribe(key: string, ms: number, signal: AbortSignal | undefined) {
    let end = () => {}
    const notified = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', resolve as () => void)
        const others = this.#waiting.get(key)
        others?.delete(resolve)
        if (others?.size !== 0) return
        this.#waiting.delete(key)
        void this.#listening?.then((connection) => connection?.client.unsubscribe(key)).catch(() => {})
      }
      signal?.addEventListener('abort', resolve as () => void, { once: true })
      const others = this.#waiting.get(key)
      if (others) others.add(resolve)
      else this.#waiting.set(key, new Set([resolve]))
    })
    await this.#subscribeChannel(key)
    return { notified, end }
  }

  /** Ignores errors: without the channel a wait only takes longer. */
  async #subscribeChannel(key: string): Promise<void> {
    this.#listening ??= this.#listen()
    try {
      await (await this.#listening)?.call((client) => client.subscribe(key))
    } catch {
      // The wait reads the key again after POLL_MS.
    }
  }

  async #listen(): Promise<Connection | undefined> {
    const connection = this.server.connect()
    const { client } = connection
    client.on('message', (key: string) => {
      for (const notify of this.#waiting.get(key) ?? []) notify()
    })
    try {
      await connection.ready()
    } catch {
      this.server.disconnect(connection)
      setTimeout(() => this.#reset(), RETRY_MS).unref()
      return undefined
    }
    // The waits read their keys and subscribe again. A connection that is reset emits an error before it closes.
    void once(client, 'close')
      .catch(() => {})
      .then(() => {
        this.server.disconnect(connection)
        this.#reset()
      })
    return connection
  }

  #reset(): void {
    this.#listening = undefined
    for (const waiting of this.#waiting.values()) for (const notify of waiting) notify()
  }
}
