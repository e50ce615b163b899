/** Parts of the files that tasks produce. */

import type { AttemptRef, TaskStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { StorePart } from '../server/server.ts'

export class TaskParts extends StorePart implements Partial<TaskStore> {
  async putPart(
    id: string,
    index: number,
    bytes: Uint8Array,
    most: number,
    by?: AttemptRef,
  ): ReturnType<TaskStore['putPart']> {
    const found = await this.server.findTask(id)
    if (!found) return 'unknown'
    const all = [...found.keys, this.keys.parts(found.queue, id)]
    const args = [index, Buffer.from(bytes), most, by?.run ?? '', by?.attempt ?? '']
    return (await this.server.run(lua.taskPutPart, all, args)) as 'ok' | 'full' | 'unknown' | 'stale'
  }

  async part(id: string, index: number): Promise<Uint8Array | null> {
    const found = await this.server.findTask(id)
    if (!found) return null
    const bytes = await this.server.call((client) => client.hgetBuffer(this.keys.parts(found.queue, id), String(index)))
    return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  }
}
