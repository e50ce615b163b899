/** Rows that are ended from outside: their deferral, their end, and their deadlines. */

import { splitTaskJid } from '../../../job/payload.ts'
import { type Deferral, type DeferredAnswer, type DeferredEnd, EVENT_STATUSES, type TaskStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { STATUS_NUMBER } from '../server/call.ts'
import { StorePart } from '../server/server.ts'

const UNKNOWN: DeferredAnswer = { answer: 'unknown', status: null, code: null }

export class DeferredRows extends StorePart implements Partial<TaskStore> {
  async defer({ jid, run, attempt, at, until }: Deferral, now: number): ReturnType<TaskStore['defer']> {
    const { id, index } = splitTaskJid(jid)
    const args = [now, jid, index, run, attempt, at, until]
    const answer = await this.server.runOnTask(id, lua.taskDefer, args, this.keys.deferred)
    return (answer ?? 'unknown') as 'ok' | 'superseded' | 'unknown'
  }

  async endDeferred(end: DeferredEnd, now: number): Promise<DeferredAnswer> {
    const { jid, status, code = '', result = '', isOverdue, messages = [] } = end
    const { id, index } = splitTaskJid(jid)
    const args = [now, jid, index, STATUS_NUMBER[status], code, result, isOverdue ? 1 : '', messages.length]
    const texts = messages.map((message) => JSON.stringify(message))
    const sealed = this.keys.movingTask((await this.server.findTask(id))?.queue ?? '', id)[0]
    const found = await this.server.runOnTask(id, lua.taskEndDeferred, [...args, ...texts], this.keys.deferred, sealed)
    const [answer, number, about] = (found ?? ['unknown']) as [DeferredAnswer['answer'], number, string]
    if (answer !== 'unknown') return { answer, status: EVENT_STATUSES[number] ?? null, code: about || null }
    if (!found) await this.server.call((client) => client.zrem(this.keys.deferred, jid))
    return UNKNOWN
  }

  /** Leaves out the rows of sealed tasks. */
  async overdue(now: number, limit: number): Promise<string[]> {
    if (limit <= 0) return []
    const { deferred, movingTasks } = this.keys
    const end = now - (await this.server.clockAhead())
    for (let from = 0; ; from += limit) {
      const jids = await this.server.call((client) => client.zrangebyscore(deferred, '-inf', end, 'LIMIT', from, limit))
      if (jids.length === 0) return []
      const moving = await this.server.call((client) => client.hgetall(movingTasks))
      const found = jids.filter((jid) => !moving[splitTaskJid(jid).id])
      if (found.length > 0 || jids.length < limit) return found
    }
  }
}
