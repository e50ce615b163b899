import type { TestContext } from 'vitest'
import type { PushItem, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { lua } from '#dist/store/redis/lua.generated.js'
import { stringsOf } from '../ask.ts'
import { type FaultProxy, startProxy } from '../proxy.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Match, Step } from '../step.ts'

const IMPATIENT_MS = 500

/** What the server stores, whatever its clients know of it. Texts are in any order. */
export interface Truth {
  waiting: string[]
  /** Jobs of owners: under tickets, and arrivals. */
  held: string[]
  retry: string[]
  schedule: string[]
  dead: string[]
  processed: number
  failed: number
  /** Keys of owners with settled arrivals. */
  owned: string[]
  /** Keys of owners that say what was settled. */
  settledArrivals: string[]
}

/** A store behind a proxy, and one beside it without a proxy, on a database of their own. */
export class Stage {
  readonly proxy: FaultProxy
  readonly store: Store
  readonly direct: Store
  /** When the last fault happened, on the monotonic clock. */
  faultAt = 0
  /** Commands that had a fault. */
  readonly faulted = new Set<string>()
  readonly database: number
  readonly #port: number

  constructor(server: RedisServer, proxy: FaultProxy, database: number, redisTimeout?: number) {
    this.proxy = proxy
    this.#port = server.port
    this.database = database
    this.store = openStore(proxy.url(database), redisTimeout ? { redisTimeout } : {})
    this.direct = openStore(server.url(database))
  }

  /** Makes something happen to the next request that matches. */
  fault(match: Match, act: Act): Step {
    const step = this.proxy.onRequest(match, act)
    void step.happened.then(({ name }) => {
      this.faultAt = performance.now()
      this.faulted.add(name)
    })
    return step
  }

  /** Releases a held message. */
  release(step: Step): void {
    this.faultAt = performance.now()
    step.release()
  }

  async push(...texts: string[]): Promise<void> {
    const items = texts.map((text): PushItem => ({ to: 'queue', queue: 'q', text, end: 'back' }))
    await this.direct.jobs.push(items, Date.now())
  }

  async ask(...commands: string[][]): Promise<string[][]> {
    return (await stringsOf(this.#port, ['SELECT', String(this.database)], ...commands)).slice(1)
  }

  /** Returns the number of clients whose BLMOVE waits on the server. */
  async blocked(): Promise<number> {
    const [list = ['']] = await this.ask(['CLIENT', 'LIST'])
    const waits = new RegExp(` flags=\\S*b\\S* db=${this.database} `)
    return (list[0] ?? '').split('\n').filter((line) => waits.test(line)).length
  }

  /** Reads the state in one step, so that a job that moves meanwhile is seen once. */
  async truth(): Promise<Truth> {
    const [[text = '{}'] = []] = await this.ask(['EVAL', READ_ALL, '0'])
    const found = JSON.parse(text) as Record<string, Record<string, string[]>>
    const of = (kind: string, name: string | RegExp) =>
      Object.entries(found[kind] ?? {}).filter(([key]) => (typeof name === 'string' ? key === name : name.test(key)))
    const texts = (kind: string, name: string | RegExp) => of(kind, name).flatMap(([, all]) => Object.values(all))
    const keys = (kind: string, name: RegExp) => of(kind, name).map(([key]) => key)
    return {
      waiting: texts('list', /^queue:/),
      held: [...texts('hash', /}:working:/), ...texts('list', /}:arriving:/)],
      retry: texts('zset', 'retry'),
      schedule: texts('zset', 'schedule'),
      dead: texts('zset', 'dead'),
      processed: Number(texts('string', 'stat:processed')[0] ?? 0),
      failed: Number(texts('string', 'stat:failed')[0] ?? 0),
      owned: [...keys('hash', /}:working:/), ...keys('list', /}:arriving:/)],
      settledArrivals: keys('set', /}:settled:/),
    }
  }
}

/** Reads all keys with texts, by type and key, as JSON. */
const READ_ALL = `
local read = {
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1) end,
  hash = function(key) return redis.call('HVALS', key) end,
  set = function(key) return redis.call('SMEMBERS', key) end,
  string = function(key) return { redis.call('GET', key) } end,
}
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  if not string.find(key, ':task:', 1, true) then
    found[kind] = found[kind] or {}
    found[kind][key] = read[kind](key)
  end
end
return cjson.encode(found)`

/** The last database of each server that has a stage. Files of tests share this module, and have servers of their own. */
const databases = new WeakMap<RedisServer, number>()

/** Makes a stage that is closed at the end of the test. `impatient`: commands of its store time out soon. */
export async function openStage(
  server: RedisServer,
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  { impatient = false } = {},
): Promise<Stage> {
  const database = (databases.get(server) ?? 0) + 1
  databases.set(server, database)
  const proxy = await startProxy(server)
  const stage = new Stage(server, proxy, database, impatient ? IMPATIENT_MS / 1000 : undefined)
  onTestFinished(async () => {
    await stage.store.close()
    await stage.direct.close()
    await proxy.close()
  })
  return stage
}

/** Loads all scripts, so that the first call of a script is like any other. */
export async function loadScripts(server: RedisServer): Promise<void> {
  for (const { source } of Object.values(lua)) await server.ask('SCRIPT', 'LOAD', source)
}

export function command(name: string): Match {
  return (said) => said === name
}

export function script(...names: (keyof typeof lua)[]): Match {
  return (said, [what]) =>
    names.some((name) => String(what) === (said === 'EVALSHA' ? lua[name].sha : said === 'EVAL' && lua[name].source))
}

/** Matches either script of a worker's step. */
export const STEP = script('settleAndFetch', 'settleAndFetchPlain')
