/** Rows that `validate` refused before any attempt: a handler gets of them what it answers now, or nothing. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { EventRecord, TaskRecord } from '../store/contract.ts'
import { paramsOf } from './event.ts'
import { RowCheck } from './import.ts'
import { metaOf } from './meta.ts'
import type { Row } from './rows.ts'

/** Why a row is refused before a job is made of it. */
const REFUSALS: readonly (string | null)[] = ['invalid', 'formula_error']

export class Revalidation {
  readonly #isNeeded: boolean
  readonly #check: RowCheck | undefined

  constructor(task: Pick<TaskRecord, 'meta'>, validate: StandardSchemaV1 | undefined, now: () => number) {
    const { format, mapping, columns, validated = false } = metaOf(task)
    this.#isNeeded = format !== undefined && (validated || validate !== undefined)
    if (format && validate) this.#check = new RowCheck(format, { columns: mapping, header: columns, validate, now })
  }

  /** It is kept as its file had it, for no schema has made arguments of it. */
  isNeeded({ status, code, attempts, job }: EventRecord): boolean {
    return this.#isNeeded && status === 'failed' && attempts === 0 && job === null && REFUSALS.includes(code)
  }

  /** undefined: it stays refused. @throws VALIDATE_FAILED */
  async again(event: EventRecord): Promise<Row | undefined> {
    const [values] = (paramsOf(event) ?? []) as [Record<string, unknown>?]
    // What no job can carry was not kept.
    if (!this.#check || !values || Object.keys(values).length === 0) return undefined
    const file = { number: event.number ?? event.index + 1, values }
    const row = this.#check.settled(file) ?? (await this.#check.validated(file))
    return row.rejected ? undefined : row
  }
}
