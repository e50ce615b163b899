/** Pieces of what tasks make, and values that are known for a while. */

import type { Store } from '../contract.ts'
import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'

export class Parts {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  readonly put: Store['tasks']['putPart'] = async (id, index, bytes, most, by) => {
    const found = await this.#server.findTask(id)
    if (!found) return 'unknown'
    const main = await this.#server.ready()
    const all = [...found.keys, this.#server.keys.parts(found.queue, id)]
    const args = [index, Buffer.from(bytes), most, by?.run ?? '', by?.attempt ?? '']
    return (await main.run(lua.taskPart, all, args)) as 'ok' | 'full' | 'unknown' | 'stale'
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
