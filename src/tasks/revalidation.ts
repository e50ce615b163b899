/** Validates rows again that `validate` refused before any attempt. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { EventRecord, TaskRecord } from '../store/contract.ts'
import { argsOfEvent } from './event.ts'
import { RowCheck } from './import.ts'
import { metaOf } from './meta.ts'
import type { Row } from './rows.ts'

/** The codes of rows that were refused before they became a job. */
const REFUSALS: readonly (string | null)[] = ['invalid', 'formula_error']

export class Revalidation {
  readonly #isNeeded: boolean
  readonly #check: RowCheck | undefined

  constructor(task: Pick<TaskRecord, 'meta'>, validate: StandardSchemaV1 | undefined, now: () => number) {
    const { format, mapping, columns, validated = false } = metaOf(task)
    this.#isNeeded = format !== undefined && (validated || validate !== undefined)
    if (format && validate) this.#check = new RowCheck(format, { columns: mapping, header: columns, validate, now })
  }

  /** Returns whether a row is stored as its file had it, because no schema accepted it. */
  isNeeded({ status, code, attempts, job }: EventRecord): boolean {
    return this.#isNeeded && status === 'failed' && attempts === 0 && job === null && REFUSALS.includes(code)
  }

  /** Validates the row; returns undefined if it stays refused. @throws VALIDATE_FAILED */
  async validate(event: EventRecord): Promise<Row | undefined> {
    const [values] = (argsOfEvent(event) ?? []) as [Record<string, unknown>?]
    // A row that no job can carry was not stored.
    if (!this.#check || !values || Object.keys(values).length === 0) return undefined
    const file = { number: event.number ?? event.index + 1, values }
    const row = this.#check.unvalidated(file) ?? (await this.#check.validated(file))
    return row.rejected ? undefined : row
  }
}
