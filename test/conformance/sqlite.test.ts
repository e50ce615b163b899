import { file } from './sqlite.ts'
import { conformance, isShort } from './suite.ts'

conformance('SQLite, a file', file, isShort)
