import type { StandardSchemaV1 } from '@standard-schema/spec'
import { HighkiqError, messageOf } from '../job/errors.ts'

/**
 * Calls a schema with a row.
 * @param where begins the message of the error, which has `details`
 * @throws VALIDATE_FAILED if the schema throws
 */
export async function runSchema(
  schema: StandardSchemaV1,
  row: unknown,
  where: string,
  details: Record<string, unknown>,
): Promise<StandardSchemaV1.Result<unknown>> {
  try {
    const answer = schema['~standard'].validate(row)
    const checked = answer instanceof Promise ? await answer : answer
    if (typeof checked === 'object' && checked !== null) return checked
    throw new TypeError('it returns neither { value } nor { issues }')
  } catch (thrown) {
    const message = `${where}: validate threw an error (${messageOf(thrown)}): a schema must return the issues of a row, not throw`
    throw new HighkiqError('VALIDATE_FAILED', message, details, { cause: thrown })
  }
}

/** Returns the path of an issue: `address.street`; empty for the row itself. */
export function pathOfIssue({ path = [] }: StandardSchemaV1.Issue): string {
  return path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
}
