import { file } from './sqlite.ts'
import { conformance } from './suite.ts'

conformance('SQLite, a file', file)
