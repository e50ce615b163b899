import { describe, test } from 'vitest'
import { conformance } from './index.ts'
import { file } from './sqlite.ts'

conformance({ describe, test }, 'SQLite, a file', file, ({ isLong }) => isLong)
