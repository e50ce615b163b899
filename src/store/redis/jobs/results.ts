/** What became of jobs whose results are kept: a text each, for a while, and a channel of the same name for who waits. */

import { once } from 'node:events'
import type { ResultStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import type { Connection } from '../server/connection.ts'
import type { Server } from '../server/server.ts'

/** A word on a channel may be lost: one looks again then. */
const LOOK_MS = 2000
/** Before the channels are listened to again that could not be. */
const AGAIN_MS = 200

export class Results implements ResultStore {
  readonly #server: Server
  readonly #waiting = new Map<string, Set<() => void>>()
  #listening: Promise<Connection | undefined> | undefined

  constructor(server: Server) {
    this.#server = server
  }

  async keep(jid: string, text: string, seconds: number): Promise<void> {
    const key = this.#server.keys.result(jid)
    const main = await this.#server.ready()
    await main.all((pipeline) => pipeline.set(key, text, 'PX', Math.ceil(seconds * 1000)), key)
  }

  async find(jid: string, ms = 0, signal?: AbortSignal): Promise<string | null> {
    const key = this.#server.keys.result(jid)
    const end = performance.now() + ms
    for (;;) {
      const wait = Math.min(end - performance.now(), LOOK_MS)
      // Listen first: what is kept between the look and the wait is heard.
      const heard = wait > 0 && !signal?.aborted ? await this.#hear(key, wait, signal) : undefined
      try {
        const main = await this.#server.ready()
        const text = await main.call((client) => client.get(key))
        if (text !== null || !heard) return text
        await heard.rung
      } finally {
        heard?.end()
      }
    }
  }

  async remember(key: string, value: string, seconds: number, instead?: string): Promise<string | null> {
    const main = await this.#server.ready()
    const args = [value, Math.round(seconds * 1000), instead === undefined ? '' : `=${instead}`]
    return (await main.run(lua.remember, [this.#server.keys.remembered(key)], args)) as string | null
  }

  async secret(name: string, proposed: string): Promise<string> {
    const key = this.#server.keys.secret(name)
    const main = await this.#server.ready()
    const [, text] = await main.all((pipeline) => pipeline.setnx(key, proposed).get(key))
    return text as string
  }

  async #hear(key: string, ms: number, signal: AbortSignal | undefined) {
    let end = () => {}
    const rung = new Promise<void>((resolve) => {
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
    await this.#subscribe(key)
    return { rung, end }
  }

  /** Without a channel the wait is only longer: its errors need not be heard of. */
  async #subscribe(key: string): Promise<void> {
    this.#listening ??= this.#listen()
    try {
      await (await this.#listening)?.client.subscribe(key)
    } catch {
      // Looked at again after a while.
    }
  }

  async #listen(): Promise<Connection | undefined> {
    const connection = this.#server.connect()
    const { client } = connection
    client.on('message', (key: string) => {
      for (const ring of this.#waiting.get(key) ?? []) ring()
    })
    try {
      await connection.ready()
    } catch {
      this.#server.disconnect(connection)
      setTimeout(() => this.#forget(), AGAIN_MS).unref()
      return undefined
    }
    // Who waits looks, and listens anew.
    void once(client, 'close').then(() => {
      this.#server.disconnect(connection)
      this.#forget()
    })
    return connection
  }

  #forget(): void {
    this.#listening = undefined
    for (const waiting of this.#waiting.values()) for (const ring of waiting) ring()
  }
}
