/** Pieces of what tasks make, and values that are known for a while. */

import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'

export class Parts {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  async put(id: string, index: number, bytes: Uint8Array, most: number): Promise<'ok' | 'full' | 'unknown'> {
    const { keys } = this.#server
    const found = await this.#server.findTask(id)
    if (!found) return 'unknown'
    const main = await this.#server.ready()
    const all = [keys.task(found.queue, id)[0], keys.parts(found.queue, id)]
    return (await main.run(lua.taskPart, all, [index, Buffer.from(bytes), most])) as 'ok' | 'full' | 'unknown'
  }

  async find(id: string, index: number): Promise<Uint8Array | null> {
    const found = await this.#server.findTask(id)
    if (!found) return null
    const main = await this.#server.ready()
    const bytes = await main.call((client) =>
      client.hgetBuffer(this.#server.keys.parts(found.queue, id), String(index)),
    )
    return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  async remember(key: string, value: string, seconds: number, instead?: string): Promise<string | null> {
    const main = await this.#server.ready()
    const args = [value, Math.round(seconds * 1000), instead === undefined ? '' : `=${instead}`]
    return (await main.run(lua.remember, [this.#server.keys.known(key)], args)) as string | null
  }
}
