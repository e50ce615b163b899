import { createHash } from 'node:crypto'

/** Returns the number of the advisory lock of a schema: a whole number that JavaScript and PostgreSQL both have. */
export function lockOf(schema: string): number {
  return createHash('sha1').update(`highkiq ${schema}`).digest().readUIntBE(0, 6)
}
