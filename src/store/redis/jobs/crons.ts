/** Cron entries and their locks. */

import type {
  CronDefinition,
  CronRecord,
  CronRun,
  CronRunState,
  CronStore,
  CronTick,
  CronTickAnswer,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pushError } from '../server/confirmed-push.ts'
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
      const { text, tick, paused, jid, pushed, ends, runs } = entries[i] as unknown as Record<string, string>
      if (text === undefined) return []
      const last = { jid: jid || null, pushedAt: pushed ? Number(pushed) : null, runs: runsOf(runs) }
      return [{ name, text, tick: Number(tick), paused: paused === '1', alive: Number(ends) > now, ...last }]
    })
  }

  async define(name: string, { old, text, tick }: CronDefinition, seconds: number): Promise<boolean> {
    const from = tick === null || old === text ? '' : tick - (await this.server.clockAhead())
    const args = [seconds, name, old ?? '', text, from]
    return this.server.succeeds(lua.cronDefine, [this.keys.crons, this.keys.cron(name)], args)
  }

  /** @throws PushError */
  async tick(name: string, { text, from, to, push }: CronTick, now: number): Promise<CronTickAnswer> {
    const { keys } = this
    try {
      const items = push ? [push.item] : []
      const answer = await this.server.runCall(lua.cronTick, now, [keys.cron(name), keys.unique], items, (call) => {
        call.add(push?.lock === undefined ? 0 : call.key(keys.lock(push.lock)))
        call.add(text, from, to, push?.jid ?? '')
        call.claims(push?.item)
        call.item(push?.item ?? null, push?.item.effects)
      })
      const [word, holder = ''] = answer as [string, string?]
      if (word === 'refused') return { holder, isUnique: true }
      return word === 'held' ? { holder } : (word as 'ok' | 'gone')
    } catch (thrown) {
      throw pushError(thrown, push ? [push.jid] : [])
    }
  }

  async pause(name: string, paused: boolean, now: number): Promise<boolean> {
    const at = paused ? now : now - (await this.server.clockAhead())
    return this.server.succeeds(lua.cronPause, [this.keys.cron(name)], [at, paused ? 1 : 0])
  }

  async remove(name: string): Promise<boolean> {
    return this.server.succeeds(lua.cronRemove, [this.keys.crons, this.keys.cron(name)], [name])
  }

  async releaseLock(lock: string, holder: string): Promise<void> {
    await this.server.run(lua.releaseLock, [this.keys.lock(lock)], [holder])
  }
}

/** Reads the runs of an entry; see changeRun in moves.lua. A field that another program has damaged has none. */
function runsOf(text = ''): CronRun[] {
  if (text === '') return []
  let runs: unknown
  try {
    runs = JSON.parse(text)
  } catch {
    // It has none.
  }
  if (!Array.isArray(runs)) return []
  const time = (ms: string) => (ms === '' ? null : Number(ms))
  return (runs as string[][]).map(([jid = '', tick = '', pushed, state, started = '', ended = '']) => ({
    ...{ jid, tick: time(tick), pushedAt: Number(pushed) },
    ...{ state: state as CronRunState, startedAt: time(started), endedAt: time(ended) },
  }))
}
