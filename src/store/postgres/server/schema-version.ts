import { newestOf, VERSIONS } from './migration-plan.ts'

/** The version of the schema that schema.sql makes. */
export const SCHEMA_VERSION = newestOf(VERSIONS)
