import type { TestContext } from 'vitest'
import type { PushItem, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { lua } from '#dist/store/redis/lua.generated.js'
import { words } from '../ask.ts'
import { type FaultProxy, startProxy } from '../proxy.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Match, Step } from '../step.ts'

const IMPATIENT_MS = 500

/** What is on the server, whoever was told of it. Texts in any order. */
export interface Truth {
  waiting: string[]
  /** With owners: under tickets, and as arrivals. */
  held: string[]
  retry: string[]
  schedule: string[]
  dead: string[]
  processed: number
  failed: number
  /** Keys of owners under which jobs lie. */
  owned: string[]
  /** Keys of owners that say what was settled. */
  marks: string[]
}

/** A store behind a proxy, another one beside it that sees the truth, on a database of their own. */
export class Stage {
  readonly proxy: FaultProxy
  readonly store: Store
  readonly direct: Store
  /** When the last fault came, on the monotonic clock. */
  faultAt = 0
  readonly #port: number
  readonly #database: number

  constructor(server: RedisServer, proxy: FaultProxy, database: number, commandTimeout?: number) {
    this.proxy = proxy
    this.#port = server.port
    this.#database = database
    this.store = openStore(proxy.url(database), commandTimeout ? { commandTimeout } : {})
    this.direct = openStore(server.url(database))
  }

  /** Something befalls the next request that matches. */
  fault(match: Match, act: Act): Step {
    const step = this.proxy.onRequest(match, act)
    void step.happened.then(() => {
      this.faultAt = performance.now()
    })
    return step
  }

  /** What was held goes on. */
  release(step: Step): void {
    this.faultAt = performance.now()
    step.release()
  }

  async push(...texts: string[]): Promise<void> {
    const items = texts.map((text): PushItem => ({ to: 'queue', queue: 'q', text, end: 'back' }))
    await this.direct.push(items, Date.now())
  }

  async ask(...commands: string[][]): Promise<string[][]> {
    return (await words(this.#port, ['SELECT', String(this.#database)], ...commands)).slice(1)
  }

  /** Clients whose BLMOVE waits on the server. */
  async blocked(): Promise<number> {
    const [list = ['']] = await this.ask(['CLIENT', 'LIST'])
    const waits = new RegExp(` flags=\\S*b\\S* db=${this.#database} `)
    return (list[0] ?? '').split('\n').filter((line) => waits.test(line)).length
  }

  async truth(): Promise<Truth> {
    const [keys = []] = await this.ask(['KEYS', '*'])
    const owned = keys.filter((key) => /}:(working|arriving):/.test(key))
    const read = async (command: string[], names: string[]) =>
      (await this.ask(...names.map((name) => [command[0] ?? '', name, ...command.slice(1)]))).flat()
    const all = ['0', '-1']
    const set = (name: string) => read(['ZRANGE', ...all], [name])
    const working = await read(
      ['HVALS'],
      owned.filter((key) => key.includes('}:working:')),
    )
    const arriving = await read(
      ['LRANGE', ...all],
      owned.filter((key) => key.includes('}:arriving:')),
    )
    const [[processed = 0] = [], [failed = 0] = []] = await this.ask(['GET', 'stat:processed'], ['GET', 'stat:failed'])
    return {
      waiting: await read(
        ['LRANGE', ...all],
        keys.filter((key) => key.startsWith('queue:')),
      ),
      held: [...working, ...arriving],
      retry: await set('retry'),
      schedule: await set('schedule'),
      dead: await set('dead'),
      processed: Number(processed),
      failed: Number(failed),
      owned,
      marks: keys.filter((key) => key.includes('}:settled:')),
    }
  }
}

let databases = 0

/** Taken down at the end of the test. `impatient`: its store soon gives a command up. */
export async function openStage(
  server: RedisServer,
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  { impatient = false } = {},
): Promise<Stage> {
  const proxy = await startProxy(server)
  const stage = new Stage(server, proxy, ++databases, impatient ? IMPATIENT_MS : undefined)
  onTestFinished(async () => {
    await stage.store.close()
    await stage.direct.close()
    await proxy.close()
  })
  return stage
}

/** So that the first call of a script is as any other. */
export async function loadScripts(server: RedisServer): Promise<void> {
  for (const { source } of Object.values(lua)) await server.ask('SCRIPT', 'LOAD', source)
}

export function command(name: string): Match {
  return (said) => said === name
}

export function script(name: keyof typeof lua): Match {
  const { sha, source } = lua[name]
  return (said, [what]) => (said === 'EVALSHA' && String(what) === sha) || (said === 'EVAL' && String(what) === source)
}
