import { migrations } from '../sql.generated.ts'

/** The version of the schema that schema.sql makes. Each migration adds one. */
export const SCHEMA_VERSION = 1 + migrations.length
