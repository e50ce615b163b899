import { file } from './sqlite.ts'
import { conformance, isLong } from './suite.ts'

conformance('SQLite, a file', file, isLong)
