import { describe, test } from 'vitest'
import { conformance } from './index.ts'
import { memory } from './sqlite.ts'

// The suite leaves out the cases that need a second connection.
conformance({ describe, test }, 'SQLite, in memory', memory)
