/**
 * A connection of the app. Only texts go through it, in both directions, because the app's driver or library may return other
 * types in any way, and prepare nothing under a name.
 */

import type { SqlQuery } from '../../contract.ts'
import { sql } from '../sql.generated.ts'
import { type Connection, type Statement, Statements } from './database.ts'
import { givenText } from './texts.ts'

export class AppConnection implements Connection {
  readonly statements: Statements
  readonly #query: SqlQuery

  constructor(query: SqlQuery, schema: string) {
    this.statements = new Statements(schema, false)
    this.#query = query
  }

  /** Runs a statement whose parameters are texts. Returns the text in the column `answer`; '' without such a column. */
  async answer(statement: string, ...values: string[]): Promise<string> {
    const [row] = await this.#query(this.statements.of(statement).text, values)
    return String(row?.answer ?? '')
  }

  async query({ text, values, hasRows }: Statement): Promise<{ rows: unknown[]; rowCount: number | null }> {
    const statement = text.replaceAll('%', '%%').replaceAll(/\$(\d+)/g, '%$1$$L')
    const parameters = JSON.stringify(values.map(literal))
    const answer = await this.answer(sql.app.run, statement, parameters, hasRows ? 'yes' : 'no')
    if (!hasRows) return { rows: [], rowCount: Number(answer) }
    const rows = (JSON.parse(answer) as Record<string, unknown>[]).map((row) => {
      return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, given(value)]))
    })
    return { rows, rowCount: rows.length }
  }
}

function given(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(given)
  return typeof value === 'string' ? givenText(value) : value
}

/** Returns a value as PostgreSQL writes it. */
function literal(value: unknown): string | null {
  if (value === null) return null
  if (Array.isArray(value)) return `{${value.map(element).join(',')}}`
  return String(value).toWellFormed()
}

function element(value: unknown): string {
  return value === null ? 'NULL' : `"${String(value).toWellFormed().replaceAll(/["\\]/g, '\\$&')}"`
}
