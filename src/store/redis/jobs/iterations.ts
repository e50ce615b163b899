/** The progress of iterable jobs, in Sidekiq's hashes with the fields `ex`, `c`, `rt` and `cancelled`. */

import type { IterationRecord, IterationState, JobStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { StorePart } from '../server/server.ts'

export class Iterations extends StorePart implements Partial<JobStore> {
  async iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]> {
    const answers = await this.server.all((pipeline) => {
      for (const jid of jids) pipeline.hgetall(this.keys.iteration(jid))
    })
    return answers.map((answer) => recordOf(answer as unknown as Record<string, string>))
  }

  async saveIteration(jid: string, { executions, cursor, runtime }: IterationState): Promise<boolean> {
    const args = [executions, cursor, runtime]
    return (await this.server.run(lua.saveIteration, [this.keys.iteration(jid)], args)) === 1
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
