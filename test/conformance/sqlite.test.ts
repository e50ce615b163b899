import { file, memory } from './sqlite.ts'
import { conformance } from './suite.ts'

conformance('SQLite, a file', file)

// The cases that need a second connection are left out.
conformance('SQLite, in memory', memory)
