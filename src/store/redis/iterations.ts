/** How far iterable jobs have come, as Sidekiq keeps it: a hash each, with `ex`, `c`, `rt` and `cancelled`. */

import type { IterationRecord, IterationState } from '../contract.ts'
import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'

export class Iterations {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  async find(jids: readonly string[]): Promise<(IterationRecord | null)[]> {
    const main = await this.#server.ready()
    const answers = await main.all((pipeline) => {
      for (const jid of jids) pipeline.hgetall(this.#server.keys.iteration(jid))
    })
    return answers.map((answer) => recordOf(answer as unknown as Record<string, string>))
  }

  async save(jid: string, { executions, cursor, runtime }: IterationState): Promise<boolean> {
    const main = await this.#server.ready()
    const args = [executions, cursor, runtime]
    return (await main.run(lua.saveIteration, [this.#server.keys.iteration(jid)], args)) === 1
  }
}

function recordOf({ ex, c, rt, cancelled }: Record<string, string>): IterationRecord | null {
  if (ex === undefined && c === undefined && rt === undefined && cancelled === undefined) return null
  return {
    executions: Number(ex ?? 0),
    runtime: Number(rt ?? 0),
    cursor: c ?? null,
    cancelled: cancelled === undefined ? null : Number(cancelled) * 1000,
  }
}
