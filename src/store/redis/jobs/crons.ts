/** Cron entries and their locks. */

import { HighkiqError, PushError } from '../../../job/errors.ts'
import type { CronDefinition, CronRecord, CronStore, CronTick, CronTickAnswer } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { tasksOf } from '../server/call.ts'
import { maybeDone } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'

export class Crons extends StorePart implements CronStore {
  async list(some?: readonly string[]): Promise<CronRecord[]> {
    const names = [...(some ?? (await this.server.call((client) => client.smembers(this.keys.crons))))].sort()
    if (names.length === 0) return []
    const [time, ...entries] = await this.server.all((pipeline) => {
      pipeline.time()
      for (const name of names) pipeline.hgetall(this.keys.cron(name))
    })
    const [seconds, micros] = time as [string, string]
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    return names.flatMap((name, i) => {
      const { text, tick, paused, jid, pushed, ends } = entries[i] as unknown as Record<string, string>
      if (text === undefined) return []
      return [
        {
          name,
          text,
          tick: Number(tick),
          paused: paused === '1',
          alive: Number(ends) > now,
          jid: jid || null,
          pushedAt: pushed ? Number(pushed) : null,
        },
      ]
    })
  }

  async define(name: string, { old, text, tick }: CronDefinition, seconds: number): Promise<boolean> {
    const args = [seconds, name, old ?? '', text, tick ?? '']
    return (await this.server.run(lua.cronDefine, [this.keys.crons, this.keys.cron(name)], args)) === 1
  }

  /** @throws PushError */
  async tick(name: string, { text, from, to, push }: CronTick, now: number): Promise<CronTickAnswer> {
    const server = this.server
    const { keys } = server
    try {
      await server.loadTasks(tasksOf(push?.item.effects ?? []))
      const call = server.newCall()
      call.key(keys.cron(name))
      call.key(keys.queues)
      // The third key always is the lock, or the entry once more: `call.key` would leave a repeated key out.
      call.keys.push(push?.lock === undefined ? keys.cron(name) : keys.lock(push.lock))
      call.add(now, keys.dueChannel, text, from, to, push?.jid ?? '')
      call.item(push?.item ?? null, push?.item.effects)
      const [answer, holder] = (await server.run(lua.cronTick, call.keys, call.args)) as [string, string?]
      return answer === 'held' ? { holder: holder ?? '' } : (answer as 'ok' | 'gone')
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, push ? [push.jid] : [], maybeDone(thrown), { cause: thrown })
    }
  }

  async pause(name: string, paused: boolean, now: number): Promise<boolean> {
    return (await this.server.run(lua.cronPause, [this.keys.cron(name)], [now, paused ? 1 : 0])) === 1
  }

  async remove(name: string): Promise<boolean> {
    return (await this.server.run(lua.cronRemove, [this.keys.crons, this.keys.cron(name)], [name])) === 1
  }

  async releaseLock(lock: string, holder: string): Promise<void> {
    await this.server.run(lua.releaseLock, [this.keys.lock(lock)], [holder])
  }
}
