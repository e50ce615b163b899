import { memory } from './sqlite.ts'
import { conformance } from './suite.ts'

// The cases that need a second connection are left out.
conformance('SQLite, in memory', memory)
